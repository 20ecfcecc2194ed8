-- How the newest handoffs stand or ended.
SELECT r.status::text, count(*)
FROM (
    SELECT x.status FROM handoffs AS x
    WHERE x.namespace = $1
    ORDER BY x.handoff_id DESC LIMIT $2) AS r
GROUP BY r.status
