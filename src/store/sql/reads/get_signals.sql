-- What live turns are told: one row a waiting message, $3 at most of each turn, and one without where no
-- mail waits.
SELECT
    t.turn_id, h.waking_unread, t.abort_request_time, t.abort_reason,
    m.message_id AS "message_id?", m.mail_number AS "mail_number?", m.kind::text AS "kind?",
    m.subject AS "subject?"
FROM unnest($2::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT * FROM turns
    WHERE namespace = $1 AND turn_id = wanted.id LIMIT 1) AS t
CROSS JOIN LATERAL (
    SELECT * FROM thread_heads WHERE namespace = $1 AND thread_id = t.thread_id LIMIT 1) AS h
LEFT JOIN LATERAL (
    SELECT message_id, mail_number, kind, subject FROM messages
    WHERE namespace = $1 AND to_thread_id = t.thread_id AND mail_number > h.given_through
        AND wakes AND exception IS NULL AND h.waking_unread > 0
    ORDER BY mail_number DESC LIMIT $3) AS m ON true
WHERE t.end_time IS NULL AND (h.waking_unread > 0 OR t.abort_request_time IS NOT NULL)
ORDER BY t.turn_id, m.mail_number
