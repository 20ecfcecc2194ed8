-- Reports through a version, newest first, with the mail that carried them.
SELECT
    ROW(
        n.handoff_id, n.version, n.kind::text, n.outcome::text, n.body, n.data, n.artifacts,
        n.mail_number, n.reader_turn_id, n.create_time, n.deliver_time)::report_row_2 AS report,
    m.message_id, m.subject, m.body, m.exception::text AS exception,
    (SELECT x.end_time IS NULL FROM turns AS x
        WHERE x.namespace = $1 AND x.turn_id = n.reader_turn_id) AS in_reading,
    (SELECT p.consumed_through FROM thread_heads AS p
        WHERE p.namespace = $1 AND p.thread_id = $3) AS consumed
FROM reports AS n
LEFT JOIN LATERAL (
    SELECT x.message_id, x.subject, x.body, x.exception FROM messages AS x
    WHERE x.namespace = $1 AND x.to_thread_id = $3 AND x.mail_number = n.mail_number LIMIT 1) AS m ON true
WHERE n.namespace = $1 AND n.handoff_id = $2 AND n.version <= $4
ORDER BY n.version DESC
LIMIT $5
