-- Chooses the handoffs of a page. What follows goes through them in order, by an index; what no index
-- serves filters that scan, which ends when the page is full, or after $4 rows.
WITH listed AS MATERIALIZED (
    SELECT z.* FROM (
        SELECT x.*, ($6 OR x.close_time IS NULL)
            AND ($7::text IS NULL OR x.agent_id = $7)
            AND ($8::text[] IS NULL OR x.status::text = ANY ($8))
            AND ($9::timestamptz IS NULL OR x.create_time <= $9)
            AND ($10::timestamptz IS NULL OR x.create_time >= $10)
            -- Not EXISTS, which may be planned as a scan of all assignments of the tenant.
            AND ($11::text IS NULL OR strpos(lower(x.title), lower($11)) > 0
                OR strpos(lower((
                    SELECT a.task FROM assignments AS a
                    WHERE a.namespace = $1 AND a.handoff_id = x.handoff_id)), lower($11)) > 0) AS matches
        FROM (
