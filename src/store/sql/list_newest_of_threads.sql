-- The newest handoff of each of some threads.
WITH listed AS MATERIALIZED (
    SELECT y.*, true AS matches, asked.place AS seen
    FROM unnest($2::uuid[]) WITH ORDINALITY AS asked (thread_id, place)
    CROSS JOIN LATERAL (
        SELECT x.* FROM handoffs AS x
        WHERE x.namespace = $1 AND x.child_thread_id = asked.thread_id
        ORDER BY x.attempt DESC LIMIT 1) AS y)
