-- Threads with mail that was set aside, of what was sent since a time.
SELECT s.to_thread_id, t.agent_id, count(*), min(s.create_time)
FROM (
    SELECT x.to_thread_id, x.create_time FROM messages AS x
    WHERE x.namespace = $1 AND x.exception = 'set_aside'
    ORDER BY x.to_thread_id, x.mail_number LIMIT 10000) AS s
CROSS JOIN LATERAL (
    SELECT x.agent_id FROM thread_heads AS x
    WHERE x.namespace = $1 AND x.thread_id = s.to_thread_id LIMIT 1) AS t
WHERE s.create_time >= $2
GROUP BY s.to_thread_id, t.agent_id
ORDER BY min(s.create_time) LIMIT $3
