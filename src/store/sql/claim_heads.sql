-- Claim: locks the slots of the agents that are waited for, then the heads whose wakes are due, as
-- many as free slots and waiters allow. Heads that somebody holds are skipped, so a claim never waits
-- while it holds slots; a head that changed since the snapshot is checked again when it is locked.
WITH
-- The slots as they are once locked, whatever the snapshot says.
slots AS MATERIALIZED (
    SELECT l.*, wanted.quota
    FROM unnest($2::text[], $3::bigint[]) AS wanted (id, quota)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS address, t.*
        FROM agent_slots AS t
        WHERE t.namespace = $1 AND t.agent_id = wanted.id
        FOR NO KEY UPDATE) AS l
),
-- How many turns each agent may begin now: a queue behind full slots is not locked for nothing.
room AS (
    SELECT s.agent_id,
        CASE
            WHEN s.state = 'deactivated' THEN 0
            WHEN s.max_turns IS NULL THEN s.quota
            ELSE least(s.quota, greatest(s.max_turns - s.live_turns, 0))
        END AS room
    FROM slots AS s
)
SELECT
    coalesce(array_agg(l.slots) FILTER (WHERE l.rank = 1), '{}') AS slots,
    coalesce(array_agg(l.heads) FILTER (WHERE l.rank = 2), '{}') AS heads,
    handoffd_now() AS now,
    -- Lives of the runtimes that wait; an older one claims nothing.
    (SELECT coalesce(array_agg(ROW(NULL::tid, r.runtime_id, r.incarnation, r.description,
            r.register_time, r.receive_time)::runtime_row), '{}')
        FROM unnest($4::text[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.* FROM runtimes AS t
            WHERE t.namespace = $1 AND t.runtime_id = wanted.id LIMIT 1) AS r) AS runtimes,
    -- How many due wakes there were to see: fewer locked than seen means that some were held.
    (SELECT coalesce(sum(seen.count), 0)::bigint
        FROM room
        CROSS JOIN LATERAL (
            SELECT count(*) AS count FROM (
                SELECT 1 FROM thread_heads AS t
                WHERE t.namespace = $1 AND t.agent_id = room.agent_id
                    AND t.wake_time <= (SELECT handoffd_now())
                LIMIT room.room) AS t) AS seen) AS seen,
    -- When the next wake of these agents falls due.
    (SELECT min(next.wake_time)
        FROM unnest($2::text[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.wake_time FROM thread_heads AS t
            WHERE t.namespace = $1 AND t.agent_id = wanted.id AND t.wake_time > (SELECT handoffd_now())
            ORDER BY t.wake_time LIMIT 1) AS next) AS next_wake
FROM (
    SELECT 1 AS rank,
        ROW(
            s.address, s.version, s.agent_id, s.state::text, s.max_turns, s.live_turns)::slots_row AS slots,
        NULL::head_row AS heads
    FROM slots AS s
    UNION ALL
    SELECT 2 AS rank,
        NULL::slots_row AS slots,
        ROW(
            l.address, l.version, l.thread_id, l.agent_id, l.parent_thread_id, l.drive::text,
            l.turn_id, l.turn_number, l.turn_running, l.event_number, l.mail_number,
            l.given_through, l.consumed_through, l.waking_unread, l.wake_time, l.wake_count,
            l.handoff_id, l.handoff_unfinished, l.lost_turns, l.lost_given_through,
            l.awaited_children, l.live_children, l.tool_calls, l.last_tool, l.last_tool_time,
            l.input_tokens, l.output_tokens, l.response_number, l.last_activity_time,
            l.due_time, l.waited_time, l.delete_time, l.update_time)::head_row AS heads
    FROM room
    CROSS JOIN LATERAL (
        SELECT t.ctid AS address, t.*
        FROM thread_heads AS t
        WHERE t.namespace = $1 AND t.agent_id = room.agent_id
            AND t.wake_time <= (SELECT handoffd_now())
        ORDER BY t.wake_time
        LIMIT room.room
        FOR NO KEY UPDATE SKIP LOCKED) AS l
) AS l
