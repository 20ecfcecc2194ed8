-- Moves the lazy marks of when runtimes last asked for turns, unless they were moved lately. Rows
-- that somebody holds are left for the next time.
UPDATE runtimes AS r
SET receive_time = handoffd_now()
WHERE r.ctid = ANY (ARRAY(
    SELECT t.ctid
    FROM runtimes AS t
    WHERE t.namespace = $1 AND t.runtime_id = ANY ($2)
        AND t.receive_time <= handoffd_now() - interval '5 seconds'
    ORDER BY t.runtime_id
    FOR NO KEY UPDATE SKIP LOCKED))
