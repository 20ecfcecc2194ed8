-- Handoffs of a parent thread, open and closed, by handoffs_parent_idx.
        SELECT y.*, row_number() OVER (ORDER BY y.handoff_id) AS seen
        FROM handoffs AS y
        WHERE y.namespace = $1 AND y.parent_thread_id = $12 AND y.handoff_id > $2 AND y.handoff_id < $3
        ORDER BY y.handoff_id
