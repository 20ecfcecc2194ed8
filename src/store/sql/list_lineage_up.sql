-- A thread and what is above it, from below. Links to parents never change, and lineage is bounded.
WITH RECURSIVE above AS (
    SELECT $2::uuid AS thread_id, 0 AS steps
    UNION ALL
    SELECT t.parent_thread_id, a.steps + 1
    FROM above AS a
    CROSS JOIN LATERAL (
        SELECT x.parent_thread_id FROM threads AS x
        WHERE x.namespace = $1 AND x.thread_id = a.thread_id LIMIT 1) AS t
    WHERE t.parent_thread_id IS NOT NULL AND a.steps < 64)
SELECT a.thread_id FROM above AS a ORDER BY a.steps
