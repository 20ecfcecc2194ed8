-- L: locks the rows of a batch in the one lock order (heads, handoffs, turns, slots, runtimes; within
-- each by id, as the arrays are sorted) and returns them. PostgreSQL gives the newest version of a row
-- it waited for, while everything else in this statement comes from a snapshot that is older than the
-- wait: so beside the locked rows it reads only what no lock guards. Time is computed over the aggregate, so after the last lock.
-- The lock sits inside LATERAL: one index descent a row, whatever the planner knows of the table.
SELECT
    coalesce(array_agg(l.heads) FILTER (WHERE l.rank = 1), '{}') AS heads,
    coalesce(array_agg(l.handoffs) FILTER (WHERE l.rank = 2), '{}') AS handoffs,
    coalesce(array_agg(l.turns) FILTER (WHERE l.rank = 3), '{}') AS turns,
    coalesce(array_agg(l.slots) FILTER (WHERE l.rank = 4), '{}') AS slots,
    coalesce(array_agg(l.runtimes) FILTER (WHERE l.rank = 5), '{}') AS runtimes,
    handoffd_now() AS now,
    (SELECT s.resume_time FROM service AS s) AS resume_time,
    -- What no lock guards, in the snapshot this statement began with: see Beside in domain/command.rs.
    -- part agents, else: '{}'::agent_row_2[] AS agents, '{}'::slots_row[] AS agent_slots,
    -- By the collation of the newest index, which is what the planner takes of a table analysed empty.
    (SELECT coalesce(array_agg(ROW(
            a.agent_id, a.display_name, a.description, a.accepts_handoffs, a.on_turn_lost,
            a.default_deadline, a.claim_deadline, a.create_time, a.update_time)::agent_row_2), '{}')
        FROM unnest($7::text[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.* FROM agents AS t
            WHERE t.namespace = $1 AND t.agent_id COLLATE "C" = wanted.id LIMIT 1) AS a) AS agents,
    (SELECT coalesce(array_agg(ROW(
            NULL::tid, s.version, s.agent_id, s.state::text, s.max_turns, s.live_turns)::slots_row), '{}')
        FROM unnest($7::text[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.* FROM agent_slots AS t
            WHERE t.namespace = $1 AND t.agent_id = wanted.id LIMIT 1) AS s) AS agent_slots,
    -- part threads, else: '{}'::thread_row[] AS threads,
    (SELECT coalesce(array_agg(ROW(
            t.thread_id, t.agent_id, t.parent_thread_id, t.root_thread_id, t.depth, t.role,
            t.drive::text, t.title, t.hidden, t.listed, t.owner_subject, t.owner_email,
            t.create_time)::thread_row), '{}')
        FROM unnest($8::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.* FROM threads AS t
            WHERE t.namespace = $1 AND t.thread_id = wanted.id LIMIT 1) AS t) AS threads,
    -- part keys, else: '{}'::key_row[] AS keys
    (SELECT coalesce(array_agg(ROW(
            k.key_hash, k.fingerprint, k.handoff_id, k.answer, k.expire_time)::key_row), '{}')
        FROM unnest($9::bytea[]) AS wanted (hash)
        CROSS JOIN LATERAL (
            SELECT t.* FROM idempotency_keys AS t
            WHERE t.namespace = $1 AND t.key_hash = wanted.hash LIMIT 1) AS k) AS keys
    -- end of parts
FROM (
    SELECT 1 AS rank,
        ROW(
            l.address, l.version, l.thread_id, l.agent_id, l.parent_thread_id, l.drive::text,
            l.turn_id, l.turn_number, l.turn_running, l.event_number, l.mail_number,
            l.given_through, l.consumed_through, l.waking_unread, l.wake_time, l.wake_count,
            l.handoff_id, l.handoff_unfinished, l.lost_turns, l.lost_given_through,
            l.awaited_children, l.live_children, l.tool_calls, l.last_tool, l.last_tool_time,
            l.input_tokens, l.output_tokens, l.response_number, l.last_activity_time,
            l.due_time, l.waited_time, l.delete_time, l.update_time)::head_row AS heads,
        NULL::handoff_row_4 AS handoffs,
        NULL::turn_row AS turns,
        NULL::slots_row AS slots,
        NULL::runtime_row AS runtimes
    FROM unnest($2::uuid[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS address, t.*
        FROM thread_heads AS t
        WHERE t.namespace = $1 AND t.thread_id = wanted.id
        FOR NO KEY UPDATE) AS l
    -- part handoffs
    UNION ALL
    SELECT 2 AS rank,
        NULL::head_row AS heads,
        ROW(
            l.address, l.version, l.handoff_id, l.parent_thread_id, l.child_thread_id,
            l.agent_id, l.title, l.attempt, l.on_completion::text, l.on_turn_lost::text,
            l.status::text, l.outcome::text, l.outcome_stated, l.error, l.report_version,
            l.result_version, l.progress_mail_number, l.event_number, l.reminders_sent,
            l.reminder_time, l.reminder_mail_number, l.stop_turn_id, l.idempotency_key,
            l.create_time, l.first_turn_time, l.finish_time, l.close_time, l.update_time, l.due_time, l.watch_time,
            l.watch_turn_id, l.deadline, l.deadline_time, l.deadline_version,
            l.claim_deadline_time)::handoff_row_4 AS handoffs,
        NULL::turn_row AS turns,
        NULL::slots_row AS slots,
        NULL::runtime_row AS runtimes
    FROM unnest($3::uuid[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS address, t.*
        FROM handoffs AS t
        WHERE t.namespace = $1 AND t.handoff_id = wanted.id
        FOR NO KEY UPDATE) AS l
    -- part turns
    UNION ALL
    SELECT 3 AS rank,
        NULL::head_row AS heads,
        NULL::handoff_row_4 AS handoffs,
        ROW(
            l.address, l.version, l.turn_id, l.thread_id, l.handoff_id, l.agent_id,
            l.runtime_id, l.incarnation, l.holds_slot, l.token, l.state::text,
            l.claim_time, l.lease_expire_time, l.heartbeat_time, l.activity_time,
            l.activity_number, l.tool_calls, l.last_tool, l.last_tool_time, l.partial_text,
            l.input_tokens, l.output_tokens, l.abort_request_time, l.abort_reason,
            l.check_time, l.end_time, l.outcome::text, l.finish_fingerprint, l.finish_answer)::turn_row AS turns,
        NULL::slots_row AS slots,
        NULL::runtime_row AS runtimes
    FROM unnest($4::uuid[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS address, t.*
        FROM turns AS t
        WHERE t.namespace = $1 AND t.turn_id = wanted.id
        FOR NO KEY UPDATE) AS l
    -- part slots
    UNION ALL
    SELECT 4 AS rank,
        NULL::head_row AS heads,
        NULL::handoff_row_4 AS handoffs,
        NULL::turn_row AS turns,
        ROW(
            l.address, l.version, l.agent_id, l.state::text, l.max_turns, l.live_turns)::slots_row AS slots,
        NULL::runtime_row AS runtimes
    FROM unnest($5::text[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS address, t.*
        FROM agent_slots AS t
        WHERE t.namespace = $1 AND t.agent_id = wanted.id
        FOR NO KEY UPDATE) AS l
    -- part runtimes
    UNION ALL
    SELECT 5 AS rank,
        NULL::head_row AS heads,
        NULL::handoff_row_4 AS handoffs,
        NULL::turn_row AS turns,
        NULL::slots_row AS slots,
        ROW(
            l.address, l.runtime_id, l.incarnation, l.description, l.register_time,
            l.receive_time)::runtime_row AS runtimes
    FROM unnest($6::text[]) AS wanted (id)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS address, t.*
        FROM runtimes AS t
        WHERE t.namespace = $1 AND t.runtime_id = wanted.id
        FOR NO KEY UPDATE) AS l
-- end of parts
) AS l
