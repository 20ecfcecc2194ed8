-- Promise 8: what a transaction left to be done to a thread can be done: the thread is there.
SELECT e.subject_id::text AS subject,
    format('%s effects wait for a thread that is not there', count(*)) AS problem
FROM deferred_effects AS e
LEFT JOIN LATERAL (
    SELECT x.thread_id FROM thread_heads AS x
    WHERE x.namespace = $1 AND x.thread_id = e.subject_id LIMIT 1) AS h ON true
WHERE e.namespace = $1 AND e.subject_id = ANY($2) AND e.kind = 'tell_sender' AND h.thread_id IS NULL
GROUP BY e.subject_id
