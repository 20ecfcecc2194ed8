-- A page of a mailbox: a stretch of numbers, of which only some states are wanted. The states follow
-- from the marks that were read with the head, so that the page agrees with itself.
WITH
-- Bounded by count.
wanted AS (
    SELECT m.*
    FROM messages AS m
    WHERE m.namespace = $1 AND m.to_thread_id = $2 AND m.mail_number > $3 AND m.mail_number <= $4
        AND ($8::text[] IS NULL OR CASE
            WHEN m.exception IS NOT NULL THEN m.exception::text
            WHEN m.mail_number <= $6 THEN 'consumed'
            WHEN m.mail_number <= $5 THEN 'given'
            ELSE 'unread' END = ANY ($8))
    ORDER BY m.mail_number
    LIMIT $7
),
-- And by bytes, before the bodies travel: what comes before a message, without itself.
sized AS (
    SELECT w.*, count(*) OVER () AS found,
        sum(w.bytes) OVER (
            ORDER BY w.mail_number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM wanted AS w
)
SELECT
    s.found,
    ROW(s.to_thread_id, s.mail_number, s.message_id, s.from_thread_id, s.from_agent_id,
        s.handoff_id, s.kind::text, s.subject, s.body, s.data, s.artifacts, s.bytes, s.outcome,
        s.in_reply_to, s.report_version, s.quiet, s.wakes, s.rated, s.late,
        s.exception::text, s.create_time)::message_row AS message
FROM sized AS s
WHERE s.before IS NULL OR s.before < $9
ORDER BY s.mail_number
