-- Handoffs open and closed, by the primary key.
        SELECT y.*, row_number() OVER (ORDER BY y.handoff_id) AS seen
        FROM handoffs AS y
        WHERE y.namespace = $1 AND y.handoff_id > $2 AND y.handoff_id < $3
        ORDER BY y.handoff_id
