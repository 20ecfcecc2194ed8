-- Open handoffs, by handoffs_open_idx.
WITH listed AS MATERIALIZED (
    SELECT x.* FROM handoffs AS x
    WHERE x.namespace = $1 AND x.close_time IS NULL AND x.handoff_id > $2
    ORDER BY x.handoff_id LIMIT $3)
