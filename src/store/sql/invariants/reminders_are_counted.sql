-- The reminders of a handoff are those in its child's mailbox that were not withdrawn; one is
-- outstanding at most, and none of work that has ended (promise 8): it waits to be read by nobody.
SELECT c.handoff_id::text AS subject,
    format('%s reminders in the mailbox, %s to be read; by the handoff %s', own.sent, own.outstanding,
        c.reminders_sent) AS problem
FROM handoffs AS c
JOIN thread_heads AS h ON h.namespace = c.namespace AND h.thread_id = c.child_thread_id
CROSS JOIN LATERAL (
    SELECT count(*) AS sent,
        count(*) FILTER (WHERE m.mail_number > h.given_through AND m.exception IS NULL) AS outstanding
    FROM messages AS m
    WHERE m.namespace = c.namespace AND m.to_thread_id = c.child_thread_id
        AND m.kind = 'reminder' AND m.handoff_id = c.handoff_id
        AND m.exception IS DISTINCT FROM 'withdrawn'
) AS own
WHERE c.namespace = $1 AND c.handoff_id = ANY($2)
    AND (own.sent <> c.reminders_sent
        OR own.outstanding > CASE WHEN c.finish_time IS NULL THEN 1 ELSE 0 END)
