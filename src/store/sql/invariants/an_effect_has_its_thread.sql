-- Promise 8: what a transaction left to be done to a thread can be done: the thread is there.
SELECT e.subject_id::text AS subject,
    format('%s effects wait for a thread that is not there', count(*)) AS problem
FROM deferred_effects AS e
WHERE e.namespace = $1 AND e.subject_id = ANY($2) AND e.kind = 'tell_sender'
    AND NOT EXISTS (
        SELECT FROM thread_heads AS h
        WHERE h.namespace = e.namespace AND h.thread_id = e.subject_id)
GROUP BY e.subject_id
