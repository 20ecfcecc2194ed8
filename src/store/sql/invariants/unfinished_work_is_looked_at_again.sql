-- Promise 8: a child whose work is unfinished has a time at which it is looked at again; a thread
-- without work, or whose work has ended, has none.
SELECT h.thread_id::text AS subject,
    CASE WHEN h.handoff_unfinished THEN 'its work is unfinished, and nobody looks again'
        ELSE 'it owes nothing, and is to be looked at'
    END AS problem
FROM thread_heads AS h
WHERE h.namespace = $1 AND h.thread_id = ANY($2) AND h.handoff_unfinished <> (h.due_time IS NOT NULL)
