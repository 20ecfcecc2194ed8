-- Handoffs open and closed, by the primary key; an agent filters a bounded scan, which ends when the
-- page is full.
WITH listed AS MATERIALIZED (
    SELECT x.* FROM (
        SELECT y.* FROM handoffs AS y
        WHERE y.namespace = $1 AND y.handoff_id > $2
        ORDER BY y.handoff_id LIMIT $4) AS x
    WHERE $5::text IS NULL OR x.agent_id = $5
    LIMIT $3)
