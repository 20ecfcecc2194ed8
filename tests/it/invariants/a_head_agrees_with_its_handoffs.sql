-- A child's head names its newest handoff, and knows whether that has an outcome.
SELECT h.namespace, h.thread_id, h.handoff_id, h.handoff_unfinished, own.handoff_id AS newest
FROM thread_heads AS h
LEFT JOIN LATERAL (
    SELECT c.handoff_id, c.finish_time FROM handoffs AS c
    WHERE c.namespace = h.namespace AND c.child_thread_id = h.thread_id
    ORDER BY c.attempt DESC LIMIT 1
) AS own ON true
WHERE h.handoff_id IS DISTINCT FROM own.handoff_id
    OR h.handoff_unfinished <> (own.handoff_id IS NOT NULL AND own.finish_time IS NULL)
