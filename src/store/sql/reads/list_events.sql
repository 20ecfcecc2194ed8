-- History of a thread above a number, with the bodies it only names: what an assignment says, and
-- the text of a report that travelled as mail. $4 rows, and $5 bytes of JSON but for the last row.
WITH page AS (
    SELECT e.number, e.time, e.late, e.turn_id, e.kind, e.content,
        sum(octet_length(e.content::text)) OVER (ORDER BY e.number) - octet_length(e.content::text)
            AS bytes_before
    FROM (
        SELECT * FROM thread_events
        WHERE namespace = $1 AND thread_id = $2 AND number > $3
        ORDER BY number LIMIT $4) AS e
)
SELECT
    p.number AS "number!", p.time AS "time!: Timestamp", p.late AS "late!",
    p.turn_id AS "turn_id?: TurnId", p.content AS "content!",
    a.task AS "task?", a.context_data AS "context_data?", coalesce(m.body, late.body) AS "body?"
FROM page AS p
LEFT JOIN LATERAL (
    SELECT task, context_data FROM assignments
    WHERE p.kind = 'assignment' AND namespace = $1
        AND handoff_id = (p.content #>> '{content,handoff_id}')::uuid
    LIMIT 1) AS a ON true
LEFT JOIN LATERAL (
    SELECT parent_thread_id AS id FROM thread_heads
    WHERE p.kind = 'report' AND namespace = $1 AND thread_id = $2
    LIMIT 1) AS parent ON true
-- The version of the report names the mail that carried it.
LEFT JOIN LATERAL (
    SELECT mail_number FROM reports
    WHERE p.kind = 'report' AND namespace = $1
        AND handoff_id = (p.content #>> '{content,handoff_id}')::uuid
        AND version = (p.content #>> '{content,version}')::bigint
    LIMIT 1) AS r ON true
LEFT JOIN LATERAL (
    SELECT body FROM messages
    WHERE namespace = $1 AND to_thread_id = parent.id AND mail_number = r.mail_number
    LIMIT 1) AS m ON true
-- A report that came after the end has none; there are few, found among the mail of the pair.
LEFT JOIN LATERAL (
    SELECT body FROM messages
    WHERE p.kind = 'report' AND p.content #>> '{content,version}' IS NULL AND namespace = $1
        AND to_thread_id = parent.id AND from_thread_id = $2 AND rated
        AND message_id = (p.content #>> '{content,message_id}')::uuid
    LIMIT 1) AS late ON true
WHERE p.bytes_before < $5
ORDER BY p.number
