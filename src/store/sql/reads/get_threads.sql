-- Threads by id, cold and hot part, with what they do now. $3: also what is bulky.
SELECT
    t.thread_id, t.agent_id, t.parent_thread_id, t.root_thread_id, t.depth, t.role,
    t.drive::text AS "drive!", t.title, t.hidden, t.listed, t.owner_subject, t.owner_email,
    t.create_time,
    h.turn_id, h.handoff_id, h.handoff_unfinished, h.mail_number, h.given_through,
    h.consumed_through, h.event_number, h.last_activity_time, h.update_time, h.delete_time,
    -- Mail that was taken out is neither given nor unread.
    (SELECT count(*) FROM messages AS m
        WHERE m.namespace = $1 AND m.to_thread_id = t.thread_id
            AND m.mail_number > h.given_through AND m.exception IS NOT NULL) AS "excepted!",
    -- A wake that is due later, or held with its agent, is not claimable.
    coalesce(h.wake_time <= handoffd_now() AND s.state = 'active', false) AS "claimable!",
    a.task AS "task?", a.context_data AS "context_data?",
    e.content #>> '{content,response_text}' AS "response?"
FROM unnest($2::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT * FROM threads WHERE namespace = $1 AND thread_id = wanted.id LIMIT 1) AS t
CROSS JOIN LATERAL (
    SELECT * FROM thread_heads WHERE namespace = $1 AND thread_id = wanted.id LIMIT 1) AS h
LEFT JOIN LATERAL (
    SELECT state FROM agent_slots WHERE namespace = $1 AND agent_id = t.agent_id LIMIT 1) AS s ON true
LEFT JOIN LATERAL (
    SELECT * FROM assignments
    WHERE namespace = $1 AND handoff_id = h.handoff_id AND $3 LIMIT 1) AS a ON true
LEFT JOIN LATERAL (
    SELECT content FROM thread_events
    WHERE namespace = $1 AND thread_id = t.thread_id AND number = h.response_number AND $3
    LIMIT 1) AS e ON true
ORDER BY t.thread_id
