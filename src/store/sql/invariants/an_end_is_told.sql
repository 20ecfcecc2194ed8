-- Promise 4: the end of a handoff was mailed to its parent, or its timeline says why not. (Who asked
-- for work that was refused was told by the refusal.)
SELECT c.handoff_id::text AS subject,
    CASE WHEN told.said THEN 'its end was mailed, and its timeline says that nobody was told'
        ELSE 'its end was told to nobody, and nothing says why'
    END AS problem
FROM handoffs AS c
CROSS JOIN LATERAL (
    SELECT
        EXISTS (
            SELECT FROM reports AS r
            WHERE r.namespace = c.namespace AND r.handoff_id = c.handoff_id
                AND r.version = c.report_version AND r.mail_number IS NOT NULL) AS mailed,
        EXISTS (
            SELECT FROM handoff_events AS e
            WHERE e.namespace = c.namespace AND e.handoff_id = c.handoff_id
                AND e.reason = 'not_notified') AS said
) AS told
WHERE c.namespace = $1 AND c.handoff_id = ANY($2)
    AND c.finish_time IS NOT NULL AND c.status <> 'materialize_failed' AND told.mailed = told.said
