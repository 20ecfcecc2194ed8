-- Open handoffs of an agent, by handoffs_agent_idx.
        SELECT y.*, row_number() OVER (ORDER BY y.handoff_id) AS seen
        FROM handoffs AS y
        WHERE y.namespace = $1 AND y.agent_id = $12 AND y.close_time IS NULL
            AND y.handoff_id > $2 AND y.handoff_id < $3
        ORDER BY y.handoff_id
