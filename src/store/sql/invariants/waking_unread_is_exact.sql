-- The unread waking mail that a head counts, and wakes for, is in the mailbox.
SELECT h.thread_id::text AS subject,
    format('%s waking messages are unread; by the head %s', mail.count, h.waking_unread) AS problem
FROM thread_heads AS h
CROSS JOIN LATERAL (
    SELECT count(*) FROM messages AS m
    WHERE m.namespace = h.namespace AND m.to_thread_id = h.thread_id
        AND m.wakes AND m.exception IS NULL AND m.mail_number > h.given_through
) AS mail
WHERE h.namespace = $1 AND h.thread_id = ANY($2)
    AND h.drive = 'runtime' AND h.delete_time IS NULL AND h.waking_unread <> mail.count
