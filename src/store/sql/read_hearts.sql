-- Hearts: what a heartbeat sees of its turns. Nothing is locked: the version that is read here fences
-- the write, and a turn that changed in between is read again. Mail that must wake and that the turn
-- was not given is told by its thread's head.
SELECT
    coalesce(array_agg(ROW(
        t.address, t.version, t.turn_id, t.runtime_id, t.token, t.state::text, t.end_time,
        t.outcome::text, t.activity_time, t.activity_number, t.tool_calls, t.last_tool,
        t.last_tool_time, t.input_tokens, t.output_tokens,
        t.abort_request_time IS NOT NULL OR coalesce(h.waking_unread > 0, false))::heart_row), '{}') AS hearts,
    handoffd_now() AS now
FROM unnest($2::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT t.ctid AS address, t.* FROM turns AS t
    WHERE t.namespace = $1 AND t.turn_id = wanted.id LIMIT 1) AS t
LEFT JOIN LATERAL (
    SELECT h.waking_unread FROM thread_heads AS h
    WHERE h.namespace = $1 AND h.thread_id = t.thread_id LIMIT 1) AS h ON true
