-- Promise 8: work whose end is fixed and not closed is for its parent thread to collect, and has a time
-- at which it is closed all the same. Closed work has no such time.
SELECT c.handoff_id::text AS subject,
    CASE
        WHEN c.close_time IS NOT NULL THEN 'it is closed, and to be looked at'
        WHEN c.due_time IS NULL THEN 'it is finished, and nothing closes it'
        ELSE 'it is finished, and nobody is to collect it'
    END AS problem
FROM handoffs AS c
LEFT JOIN thread_heads AS h ON h.namespace = c.namespace AND h.thread_id = c.parent_thread_id
WHERE c.namespace = $1 AND c.handoff_id = ANY($2) AND c.finish_time IS NOT NULL
    AND ((c.due_time IS NOT NULL) <> (c.close_time IS NULL)
        OR (c.close_time IS NULL AND (c.on_completion <> 'return' OR h.thread_id IS NULL)))
