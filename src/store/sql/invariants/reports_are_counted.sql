-- The version of a handoff is the number of its reports, and its result is one of them.
SELECT c.handoff_id::text AS subject,
    format('version %s, result %s, and %s reports up to %s', c.report_version,
        coalesce(c.result_version::text, 'none'), own.count, own.max) AS problem
FROM handoffs AS c
CROSS JOIN LATERAL (
    SELECT count(*), coalesce(max(r.version), 0) AS max
    FROM reports AS r
    WHERE r.namespace = c.namespace AND r.handoff_id = c.handoff_id
) AS own
WHERE c.namespace = $1 AND c.handoff_id = ANY($2)
    AND (c.report_version <> own.count OR c.report_version <> own.max
        OR NOT c.result_version BETWEEN 1 AND c.report_version)
