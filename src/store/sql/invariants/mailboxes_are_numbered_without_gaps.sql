-- A mailbox begins at 1, has no gaps, and ends at the number of its head.
SELECT h.thread_id::text AS subject,
    format('%s messages from %s to %s; by the head %s',
        own.count, own.min, own.max, h.mail_number) AS problem
FROM thread_heads AS h
CROSS JOIN LATERAL (
    SELECT count(*), coalesce(max(m.mail_number), 0) AS max, coalesce(min(m.mail_number), 1) AS min
    FROM messages AS m
    WHERE m.namespace = h.namespace AND m.to_thread_id = h.thread_id
) AS own
WHERE h.namespace = $1 AND h.thread_id = ANY($2)
    AND (h.mail_number <> own.count OR h.mail_number <> own.max OR own.min <> 1)
