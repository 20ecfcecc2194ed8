-- Wakes that are due, by agent, so many at most: from the index alone.
SELECT s.agent_id, count(*), min(s.wake_time)
FROM (
    SELECT x.agent_id, x.wake_time FROM thread_heads AS x
    WHERE x.namespace = $1 AND x.wake_time IS NOT NULL
    ORDER BY x.agent_id, x.wake_time LIMIT $2) AS s
WHERE s.wake_time <= (SELECT handoffd_now())
GROUP BY s.agent_id
