-- Whether the thread of a turn is an ancestor of the thread that works on a handoff, so that it sees
-- it. Links to parents never change, and lineage is bounded.
WITH RECURSIVE above AS (
    SELECT h.parent_thread_id AS thread_id, 1 AS steps
    FROM handoffs AS h
    WHERE h.namespace = $1 AND h.handoff_id = $2
    UNION ALL
    SELECT t.parent_thread_id, a.steps + 1
    FROM above AS a
    JOIN threads AS t ON t.namespace = $1 AND t.thread_id = a.thread_id
    WHERE t.parent_thread_id IS NOT NULL AND a.steps < 64)
SELECT EXISTS (
    SELECT 1 FROM above AS a
    JOIN turns AS t ON t.namespace = $1 AND t.turn_id = $3 AND t.thread_id = a.thread_id)
