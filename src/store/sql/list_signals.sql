-- What live turns are told between their calls: waking mail that they were not given, the newest of
-- it, and a stop. One descent a turn, and one more only where mail waits.
SELECT
    t.turn_id,
    t.abort_request_time,
    t.abort_reason,
    CASE WHEN h.turn_id = t.turn_id THEN h.waking_unread ELSE 0 END AS unread,
    newest.message_ids,
    newest.mail_numbers,
    newest.kinds,
    newest.subjects
FROM unnest($2::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT t.* FROM turns AS t
    WHERE t.namespace = $1 AND t.turn_id = wanted.id AND t.end_time IS NULL LIMIT 1) AS t
CROSS JOIN LATERAL (
    SELECT h.* FROM thread_heads AS h
    WHERE h.namespace = $1 AND h.thread_id = t.thread_id LIMIT 1) AS h
CROSS JOIN LATERAL (
    SELECT
        coalesce(array_agg(m.message_id ORDER BY m.mail_number), '{}') AS message_ids,
        coalesce(array_agg(m.mail_number ORDER BY m.mail_number), '{}') AS mail_numbers,
        coalesce(array_agg(m.kind::text ORDER BY m.mail_number), '{}') AS kinds,
        coalesce(array_agg(m.subject ORDER BY m.mail_number), '{}') AS subjects
    FROM (
        SELECT m.message_id, m.mail_number, m.kind, m.subject
        FROM messages AS m
        WHERE h.waking_unread > 0 AND h.turn_id = t.turn_id
            AND m.namespace = $1 AND m.to_thread_id = h.thread_id
            AND m.mail_number > h.given_through AND m.wakes AND m.exception IS NULL
        ORDER BY m.mail_number DESC
        LIMIT 10) AS m) AS newest
