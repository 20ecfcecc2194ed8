-- Promise 2: a turn that lives is the one that its thread's head names, so there is no other.
SELECT t.turn_id::text AS subject, 'it lives, and the head of its thread names another or none' AS problem
FROM turns AS t
LEFT JOIN thread_heads AS h ON h.namespace = t.namespace AND h.thread_id = t.thread_id
WHERE t.namespace = $1 AND t.turn_id = ANY($2)
    AND t.end_time IS NULL AND h.turn_id IS DISTINCT FROM t.turn_id
