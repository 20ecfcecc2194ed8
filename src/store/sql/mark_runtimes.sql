-- Moves the lazy marks of when runtimes last asked for turns, unless they were moved lately, and tells
-- where all of them stand. Rows that somebody holds are left for the next time.
WITH
-- The marks that are old enough to be moved.
moved AS (
    UPDATE runtimes AS r
    SET receive_time = handoffd_now()
    WHERE r.ctid = ANY (ARRAY(
        SELECT t.ctid
        FROM runtimes AS t
        WHERE t.namespace = $1 AND t.runtime_id = ANY ($2)
            AND t.receive_time <= handoffd_now() - interval '5 seconds'
        ORDER BY t.runtime_id
        FOR NO KEY UPDATE SKIP LOCKED))
    RETURNING r.runtime_id, r.receive_time
)
SELECT t.runtime_id, coalesce(m.receive_time, t.receive_time) AS receive_time
FROM runtimes AS t
LEFT JOIN moved AS m ON m.runtime_id = t.runtime_id
WHERE t.namespace = $1 AND t.runtime_id = ANY ($2)
