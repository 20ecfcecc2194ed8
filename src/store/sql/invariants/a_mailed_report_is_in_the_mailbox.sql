-- Promise 4: the mail that a report says it went by is in the parent's mailbox, and carries it.
SELECT c.handoff_id::text AS subject,
    format('the mail of %s of its reports is not in the mailbox of its parent', lost.count) AS problem
FROM handoffs AS c
CROSS JOIN LATERAL (
    SELECT count(*)
    FROM reports AS r
    LEFT JOIN LATERAL (
        SELECT x.handoff_id, x.report_version FROM messages AS x
        WHERE x.namespace = c.namespace AND x.to_thread_id = c.parent_thread_id
            AND x.mail_number = r.mail_number LIMIT 1) AS m ON true
    WHERE r.namespace = c.namespace AND r.handoff_id = c.handoff_id AND r.mail_number IS NOT NULL
        AND (m.handoff_id, m.report_version) IS DISTINCT FROM (r.handoff_id, r.version)
) AS lost
WHERE c.namespace = $1 AND c.handoff_id = ANY($2) AND lost.count > 0
