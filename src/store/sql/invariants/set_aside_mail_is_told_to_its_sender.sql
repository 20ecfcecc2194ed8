-- Promise 1: mail that every one of too many lost turns was given is told to the thread that sent it,
-- or will be, and once.
SELECT m.to_thread_id::text AS subject,
    format('message %s was set aside, and its sender is told %s times', min(m.mail_number), min(told.count))
        AS problem
FROM messages AS m
JOIN thread_heads AS h ON h.namespace = m.namespace AND h.thread_id = m.from_thread_id
CROSS JOIN LATERAL (
    SELECT count(*) FROM (
        SELECT e.facts AS mail
        FROM deferred_effects AS e
        WHERE e.namespace = m.namespace AND e.kind = 'tell_sender' AND e.subject_id = m.from_thread_id
            AND e.facts ->> 'to_thread_id' = m.to_thread_id::text
        UNION ALL
        SELECT n.data -> 'set_aside'
        FROM messages AS n
        WHERE n.namespace = m.namespace AND n.to_thread_id = m.from_thread_id AND n.kind = 'notice'
            AND n.data -> 'set_aside' ->> 'to_thread_id' = 'thr_' || replace(m.to_thread_id::text, '-', '')
    ) AS heard
    WHERE m.mail_number BETWEEN (heard.mail ->> 'first_mail_number')::bigint
        AND (heard.mail ->> 'last_mail_number')::bigint
) AS told
WHERE m.namespace = $1 AND m.to_thread_id = ANY($2) AND m.exception = 'set_aside'
    AND h.delete_time IS NULL AND told.count <> 1
GROUP BY m.to_thread_id
