-- Threads that may have gone quiet, earliest first. A look, without a lock.
SELECT h.namespace, h.thread_id
FROM thread_heads AS h
WHERE h.due_time <= (SELECT handoffd_now()) AND h.thread_id <> ALL ($1)
ORDER BY h.due_time
LIMIT $2
