-- Promise 1: what a turn of the parent read by the answer of its own call counts as consumed; where that
-- turn was lost or given back, it is mail again.
SELECT c.handoff_id::text AS subject,
    CASE
        WHEN t.turn_id IS NULL THEN 'one of its reports was read by a turn that is not there'
        WHEN m.exception IS DISTINCT FROM 'consumed'
            THEN 'one of its reports was read by a turn, and its mail waits to be read'
        ELSE format('one of its reports was read by a turn that ended as %s, and by nobody since', t.outcome)
    END AS problem
FROM handoffs AS c
-- Not by the index of readers, of which hardly any report has one.
CROSS JOIN LATERAL (
    SELECT * FROM reports AS r
    WHERE r.namespace = c.namespace AND r.handoff_id = c.handoff_id OFFSET 0) AS r
LEFT JOIN LATERAL (
    SELECT * FROM turns AS t
    WHERE t.namespace = c.namespace AND t.turn_id = r.reader_turn_id LIMIT 1) AS t ON true
LEFT JOIN LATERAL (
    SELECT * FROM messages AS m
    WHERE m.namespace = c.namespace AND m.to_thread_id = c.parent_thread_id
        AND m.mail_number = r.mail_number LIMIT 1) AS m ON true
WHERE c.namespace = $1 AND c.handoff_id = ANY($2) AND r.reader_turn_id IS NOT NULL
    AND (t.turn_id IS NULL OR m.exception IS DISTINCT FROM 'consumed'
        OR (r.deliver_time IS NULL AND t.outcome IN ('lost', 'released', 'unclaimed')))
