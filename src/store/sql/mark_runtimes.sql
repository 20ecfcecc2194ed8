-- Moves the lazy marks of when runtimes last asked for turns, unless they were moved lately, and tells
-- where all of them stand. Rows that somebody holds are left for the next time. By LATERAL: one index
-- descent a row, whatever the planner knows of the table.
WITH
-- The marks that are old enough to be moved.
moved AS (
    UPDATE runtimes AS r
    SET receive_time = handoffd_now()
    WHERE r.ctid = ANY (ARRAY(
        SELECT l.address
        FROM unnest($2::text[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.ctid AS address
            FROM runtimes AS t
            WHERE t.namespace = $1 AND t.runtime_id = wanted.id
                AND t.receive_time <= handoffd_now() - interval '5 seconds'
            FOR NO KEY UPDATE SKIP LOCKED) AS l))
    RETURNING r.runtime_id, r.receive_time
)
SELECT m.runtime_id, m.receive_time
FROM moved AS m
UNION ALL
-- The others.
SELECT t.runtime_id, t.receive_time
FROM unnest($2::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT x.* FROM runtimes AS x
    WHERE x.namespace = $1 AND x.runtime_id = wanted.id LIMIT 1) AS t
WHERE t.runtime_id NOT IN (SELECT m.runtime_id FROM moved AS m)
