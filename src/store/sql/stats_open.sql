-- Open handoffs by agent and status, so many of the oldest.
SELECT s.agent_id, s.status::text, count(*), min(s.create_time)
FROM (
    SELECT x.agent_id, x.status, x.create_time FROM handoffs AS x
    WHERE x.namespace = $1 AND x.close_time IS NULL
    ORDER BY x.handoff_id LIMIT $2) AS s
GROUP BY s.agent_id, s.status
