-- Open handoffs of all tenants by status, up to a number: from the index of open ones.
SELECT s.status::text, count(*)
FROM (
    SELECT x.status FROM handoffs AS x
    WHERE x.close_time IS NULL
    ORDER BY x.namespace, x.handoff_id LIMIT $1) AS s
GROUP BY s.status
