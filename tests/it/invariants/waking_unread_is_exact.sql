-- The count on the head is the count of the mail.
SELECT h.namespace, h.thread_id, h.waking_unread, mail.count
FROM thread_heads AS h
CROSS JOIN LATERAL (
    SELECT count(*) FROM messages AS m
    WHERE m.namespace = h.namespace AND m.to_thread_id = h.thread_id
        AND m.wakes AND m.exception IS NULL AND m.mail_number > h.given_through
) AS mail
WHERE h.drive = 'runtime' AND h.delete_time IS NULL AND h.waking_unread <> mail.count
