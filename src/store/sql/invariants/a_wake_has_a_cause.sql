-- A wake stands where its causes are counted, all unread waking mail among them, and nowhere else.
-- Neither a live turn nor a thread that calls by itself has one.
SELECT h.thread_id::text AS subject,
    format('%s, %s causes, %s unread waking messages%s',
        CASE WHEN h.wake_time IS NULL THEN 'no wake' ELSE 'a wake' END, h.wake_count, h.waking_unread,
        CASE WHEN h.turn_id IS NULL THEN '' ELSE ', a live turn' END) AS problem
FROM thread_heads AS h
WHERE h.namespace = $1 AND h.thread_id = ANY($2)
    AND ((h.wake_time IS NULL) <> (h.wake_count = 0)
        OR (h.turn_id IS NULL AND h.wake_count < h.waking_unread)
        OR (h.wake_time IS NOT NULL AND (h.turn_id IS NOT NULL OR h.drive = 'pull')))
