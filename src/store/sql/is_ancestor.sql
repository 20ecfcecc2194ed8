-- Whether the thread of a turn is an ancestor of the thread that works on a handoff, so that it sees
-- it. Links to parents never change, and lineage is bounded.
WITH RECURSIVE above AS (
    SELECT h.parent_thread_id AS thread_id, 1 AS steps
    FROM handoffs AS h
    WHERE h.namespace = $1 AND h.handoff_id = $2
    UNION ALL
    SELECT t.parent_thread_id, a.steps + 1
    FROM above AS a
    CROSS JOIN LATERAL (
        SELECT x.parent_thread_id FROM threads AS x
        WHERE x.namespace = $1 AND x.thread_id = a.thread_id LIMIT 1) AS t
    WHERE a.thread_id IS NOT NULL AND a.steps < 64)
SELECT coalesce((
    SELECT t.thread_id FROM turns AS t
    WHERE t.namespace = $1 AND t.turn_id = $3) = ANY (ARRAY(SELECT a.thread_id FROM above AS a)), false)
