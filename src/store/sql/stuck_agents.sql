-- Deactivated agents with threads whose turn is due, counted up to a thousand each.
SELECT a.agent_id, w.number, w.oldest
FROM (
    SELECT x.agent_id FROM agent_slots AS x
    WHERE x.namespace = $1 AND x.state = 'deactivated'
    ORDER BY x.agent_id LIMIT 10000) AS a
CROSS JOIN LATERAL (
    SELECT count(*) AS number, min(s.wake_time) AS oldest
    FROM (
        SELECT x.wake_time FROM thread_heads AS x
        WHERE x.namespace = $1 AND x.agent_id = a.agent_id AND x.wake_time IS NOT NULL
            AND x.wake_time <= (SELECT handoffd_now())
        ORDER BY x.wake_time LIMIT 1000) AS s) AS w
WHERE w.number > 0
ORDER BY w.oldest LIMIT $2
