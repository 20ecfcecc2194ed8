-- Promise 1 and 8: waking mail that nobody was given has a turn, or a wake that will make one.
SELECT h.namespace, h.thread_id, m.mail_number
FROM thread_heads AS h
JOIN messages AS m ON m.namespace = h.namespace AND m.to_thread_id = h.thread_id
WHERE h.drive = 'runtime' AND h.delete_time IS NULL
    AND m.wakes AND m.exception IS NULL AND m.mail_number > h.given_through
    AND h.turn_id IS NULL AND h.wake_time IS NULL
