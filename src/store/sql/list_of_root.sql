-- Handoffs of a tree, open and closed: its threads by threads_root_idx, and the attempts on each.
        SELECT y.*, row_number() OVER (ORDER BY t.thread_id, y.attempt) AS seen
        FROM threads AS t
        CROSS JOIN LATERAL (
            SELECT h.* FROM handoffs AS h
            WHERE h.namespace = $1 AND h.child_thread_id = t.thread_id
                AND (t.thread_id > $2 OR h.attempt > $13)
            ORDER BY h.attempt LIMIT $4) AS y
        WHERE t.namespace = $1 AND t.root_thread_id = $12 AND t.thread_id >= $2 AND t.thread_id < $3
        ORDER BY t.thread_id, y.attempt
