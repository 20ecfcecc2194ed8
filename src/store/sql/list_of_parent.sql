-- Handoffs of a parent thread, open and closed, by handoffs_parent_idx. As pairs, since the ends alone
-- would fit the primary key too, and look as good there as they do with the parent.
        SELECT y.*, row_number() OVER (ORDER BY y.handoff_id) AS seen
        FROM handoffs AS y
        WHERE y.namespace = $1 AND y.parent_thread_id = $12
            AND (y.parent_thread_id, y.handoff_id) > ($12, $2)
            AND (y.parent_thread_id, y.handoff_id) < ($12, $3)
        ORDER BY y.handoff_id
