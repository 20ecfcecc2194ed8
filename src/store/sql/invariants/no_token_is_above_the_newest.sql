-- Promise 2: the fencing token grows with each turn of a thread, so none is above the newest.
SELECT t.turn_id::text AS subject,
    format('token %s, in a thread of %s turns', t.token, coalesce(h.turn_number, 0)) AS problem
FROM turns AS t
LEFT JOIN thread_heads AS h ON h.namespace = t.namespace AND h.thread_id = t.thread_id
WHERE t.namespace = $1 AND t.turn_id = ANY($2)
    AND NOT (0 < t.token AND t.token <= coalesce(h.turn_number, 0))
