-- A child's head names its newest handoff, and knows whether that has an outcome.
SELECT h.thread_id::text AS subject,
    CASE WHEN h.handoff_id IS DISTINCT FROM own.handoff_id
        THEN 'its head does not name its newest handoff'
        ELSE format('its handoff is %s, by the head %s',
            CASE WHEN own.finish_time IS NULL THEN 'unfinished' ELSE 'finished' END,
            CASE WHEN h.handoff_unfinished THEN 'unfinished' ELSE 'finished' END)
    END AS problem
FROM thread_heads AS h
LEFT JOIN LATERAL (
    SELECT c.handoff_id, c.finish_time FROM handoffs AS c
    WHERE c.namespace = h.namespace AND c.child_thread_id = h.thread_id
    ORDER BY c.attempt DESC LIMIT 1
) AS own ON true
WHERE h.namespace = $1 AND h.thread_id = ANY($2)
    AND (h.handoff_id IS DISTINCT FROM own.handoff_id
        OR h.handoff_unfinished <> (own.handoff_id IS NOT NULL AND own.finish_time IS NULL))
