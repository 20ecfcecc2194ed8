-- Promise 2: a turn that lives is the one that its thread's head names, so there is no other.
SELECT t.turn_id::text AS subject, 'it lives, and the head of its thread names another or none' AS problem
FROM unnest($2::uuid[]) AS looked (id)
CROSS JOIN LATERAL (
    SELECT x.turn_id, x.thread_id, x.end_time FROM turns AS x
    WHERE x.namespace = $1 AND x.turn_id = looked.id LIMIT 1) AS t
LEFT JOIN LATERAL (
    SELECT x.turn_id FROM thread_heads AS x
    WHERE x.namespace = $1 AND x.thread_id = t.thread_id LIMIT 1) AS h ON true
WHERE t.end_time IS NULL AND h.turn_id IS DISTINCT FROM t.turn_id
