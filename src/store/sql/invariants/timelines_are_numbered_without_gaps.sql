-- A timeline has no gaps, ends at the number and the status of its handoff, and each line goes on
-- from the status of the one before.
SELECT c.handoff_id::text AS subject,
    CASE WHEN own.jumps THEN 'its timeline jumps from one status to another'
        ELSE format('%s lines up to %s, the last %s; by the handoff %s and %s', own.count, own.max,
            coalesce(own.last_status::text, 'missing'), c.event_number, c.status)
    END AS problem
FROM handoffs AS c
CROSS JOIN LATERAL (
    SELECT count(*), coalesce(max(e.number), 0) AS max,
        (array_agg(e.to_status ORDER BY e.number DESC))[1] AS last_status,
        coalesce(bool_or(e.from_status IS DISTINCT FROM e.before), false) AS jumps
    FROM (
        SELECT number, from_status, to_status, lag(to_status) OVER (ORDER BY number) AS before
        FROM handoff_events
        WHERE namespace = c.namespace AND handoff_id = c.handoff_id
    ) AS e
) AS own
WHERE c.namespace = $1 AND c.handoff_id = ANY($2)
    AND (c.event_number <> own.count OR c.event_number <> own.max OR own.jumps
        OR c.status IS DISTINCT FROM own.last_status)
