-- The version of a handoff is the number of its reports, and its result is one of them.
SELECT c.namespace, c.handoff_id, c.report_version, own.count, own.max
FROM handoffs AS c
CROSS JOIN LATERAL (
    SELECT count(*), coalesce(max(r.version), 0) AS max
    FROM reports AS r
    WHERE r.namespace = c.namespace AND r.handoff_id = c.handoff_id
) AS own
WHERE c.report_version <> own.count OR c.report_version <> own.max
    OR c.result_version > c.report_version
