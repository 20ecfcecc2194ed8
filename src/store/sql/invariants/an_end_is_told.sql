-- Promise 4: the end of a handoff was mailed to its parent, or was collected by it, or its timeline says
-- why not. (Who asked for work that was refused was told by the refusal; a parent that is deleted keeps
-- a copy of what could not be told to it.)
SELECT c.handoff_id::text AS subject,
    CASE WHEN told.said THEN 'it was told, and its timeline says that nobody was'
        ELSE 'its end was told to nobody, and nothing says why'
    END AS problem
FROM handoffs AS c
LEFT JOIN thread_heads AS h ON h.namespace = c.namespace AND h.thread_id = c.parent_thread_id
CROSS JOIN LATERAL (
    SELECT
        EXISTS (
            SELECT FROM reports AS r
            WHERE r.namespace = c.namespace AND r.handoff_id = c.handoff_id
                AND r.version = c.report_version
                AND CASE WHEN c.on_completion = 'return' AND c.status = 'completed'
                        THEN r.deliver_time IS NOT NULL AND c.parent_thread_id IS NOT NULL
                    ELSE r.mail_number IS NOT NULL AND c.status <> 'expired_unnotified' END) AS told,
        EXISTS (
            SELECT FROM handoff_events AS e
            WHERE e.namespace = c.namespace AND e.handoff_id = c.handoff_id
                AND e.reason = 'not_notified') AS said
) AS told
WHERE c.namespace = $1 AND c.handoff_id = ANY($2)
    AND c.close_time IS NOT NULL AND c.status <> 'materialize_failed'
    AND told.told = told.said AND (NOT told.told OR h.delete_time IS NULL)
