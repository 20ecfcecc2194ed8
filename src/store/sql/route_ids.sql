-- Route: ids to ids, unlocked. What never changes is exact, the rest a hint that L puts right.
WITH
-- The turns that were named.
named_turns AS (
    SELECT t.turn_id, t.thread_id, t.agent_id, t.holds_slot
    FROM unnest($2::uuid[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT t.* FROM turns AS t WHERE t.namespace = $1 AND t.turn_id = wanted.id LIMIT 1) AS t
),
-- The handoffs that were named.
named_handoffs AS (
    SELECT h.handoff_id, h.parent_thread_id, h.child_thread_id
    FROM unnest($4::uuid[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT h.* FROM handoffs AS h WHERE h.namespace = $1 AND h.handoff_id = wanted.id LIMIT 1) AS h
),
-- Threads that were named, or that belong to those.
all_threads AS (
    SELECT h.thread_id, h.parent_thread_id, h.handoff_id, h.turn_id, h.turn_running
    FROM (
        SELECT unnest($3::uuid[]) AS id
        UNION SELECT thread_id FROM named_turns
        UNION SELECT child_thread_id FROM named_handoffs) AS wanted
    CROSS JOIN LATERAL (
        SELECT h.* FROM thread_heads AS h
        WHERE h.namespace = $1 AND h.thread_id = wanted.id LIMIT 1) AS h
),
-- The live turns of those threads, for the slot they hold.
live_turns AS (
    SELECT t.turn_id, t.thread_id, t.agent_id, t.holds_slot
    FROM all_threads AS h
    CROSS JOIN LATERAL (
        SELECT t.* FROM turns AS t WHERE t.namespace = $1 AND t.turn_id = h.turn_id LIMIT 1) AS t
)
SELECT
    (SELECT coalesce(array_agg(ROW(t.turn_id, t.thread_id, CASE WHEN t.holds_slot THEN t.agent_id END)::turn_route_row), '{}')
        FROM (SELECT * FROM named_turns UNION SELECT * FROM live_turns) AS t) AS turns,
    (SELECT coalesce(array_agg(ROW(h.thread_id, h.parent_thread_id, h.handoff_id, h.turn_id, h.turn_running)::thread_route_row), '{}')
        FROM all_threads AS h) AS threads,
    (SELECT coalesce(array_agg(ROW(h.handoff_id, h.parent_thread_id, h.child_thread_id)::handoff_route_row), '{}')
        FROM named_handoffs AS h) AS handoffs
