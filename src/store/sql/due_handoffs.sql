-- Handoffs with a time limit, earliest first, due or not: the first that is not yet due tells when to
-- look again. A look, without a lock.
SELECT h.namespace, h.handoff_id, h.due_time, (SELECT handoffd_now())
FROM handoffs AS h
WHERE h.due_time IS NOT NULL AND h.handoff_id <> ALL ($1)
ORDER BY h.due_time
LIMIT $2
