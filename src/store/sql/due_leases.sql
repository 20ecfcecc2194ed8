-- Turns whose lease may have ended, earliest first. A look, without a lock.
SELECT t.namespace, t.turn_id
FROM turns AS t
WHERE t.end_time IS NULL AND t.check_time <= (SELECT handoffd_now()) AND t.turn_id <> ALL ($1)
ORDER BY t.check_time
LIMIT $2
