-- Handoffs of a parent thread, by handoffs_parent_idx; what no index serves filters a bounded scan,
-- which ends when the page is full.
WITH listed AS MATERIALIZED (
    SELECT x.* FROM (
        SELECT y.* FROM handoffs AS y
        WHERE y.namespace = $1 AND y.parent_thread_id = $4 AND y.handoff_id > $2
        ORDER BY y.handoff_id LIMIT $5) AS x
    WHERE (x.close_time IS NULL OR $6) AND ($7::text IS NULL OR x.agent_id = $7)
    LIMIT $3)
