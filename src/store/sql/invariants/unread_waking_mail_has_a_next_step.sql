-- Promises 1 and 8: waking mail that no turn was given has a live turn, or a wake that will make one.
SELECT h.thread_id::text AS subject,
    format('%s waking messages wait, and nothing makes a turn', mail.count) AS problem
FROM thread_heads AS h
CROSS JOIN LATERAL (
    SELECT count(*) FROM messages AS m
    WHERE m.namespace = h.namespace AND m.to_thread_id = h.thread_id
        AND m.wakes AND m.exception IS NULL AND m.mail_number > h.given_through
) AS mail
WHERE h.namespace = $1 AND h.thread_id = ANY($2)
    AND h.drive = 'runtime' AND h.delete_time IS NULL
    AND h.turn_id IS NULL AND h.wake_time IS NULL AND mail.count > 0
