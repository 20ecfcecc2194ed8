-- What the live state of listed handoffs follows from. Put behind the CTE `listed`, which chose them.
SELECT
    handoffd_now() AS now, h.matches, h.seen,
    ROW(
        NULL::tid, h.version, h.handoff_id, h.parent_thread_id, h.child_thread_id,
        h.agent_id, h.title, h.attempt, h.on_completion::text, h.on_turn_lost::text,
        h.status::text, h.outcome::text, h.outcome_stated, NULL::jsonb, h.report_version,
        h.result_version, h.progress_mail_number, h.event_number, h.reminders_sent,
        h.reminder_time, h.reminder_mail_number, h.stop_turn_id, NULL::text,
        h.create_time, h.first_turn_time, h.finish_time, h.close_time, h.update_time, h.due_time, h.watch_time,
            h.watch_turn_id, h.deadline, h.deadline_time, h.deadline_version,
            h.claim_deadline_time)::handoff_row_4 AS handoff,
    CASE WHEN c.thread_id IS NOT NULL THEN ROW(
        NULL::tid, c.version, c.thread_id, c.agent_id, c.parent_thread_id, c.drive::text,
        c.turn_id, c.turn_number, c.turn_running, c.event_number, c.mail_number,
        c.given_through, c.consumed_through, c.waking_unread, c.wake_time, c.wake_count,
        c.handoff_id, c.handoff_unfinished, c.lost_turns, c.lost_given_through,
        c.awaited_children, c.live_children, c.tool_calls, c.last_tool, c.last_tool_time,
        c.input_tokens, c.output_tokens, c.response_number, c.last_activity_time,
        c.due_time, c.waited_time, c.delete_time, c.update_time)::head_row END AS head,
    CASE WHEN s.agent_id IS NOT NULL THEN ROW(
        NULL::tid, s.version, s.agent_id, s.state::text, s.max_turns, s.live_turns)::slots_row END AS slots,
    CASE WHEN t.turn_id IS NOT NULL THEN ROW(
        NULL::tid, t.version, t.turn_id, t.thread_id, t.handoff_id, t.agent_id,
        t.runtime_id, t.incarnation, t.holds_slot, t.token, t.state::text,
        t.claim_time, t.lease_expire_time, t.heartbeat_time, t.activity_time,
        t.activity_number, t.tool_calls, t.last_tool, t.last_tool_time, NULL::text,
        t.input_tokens, t.output_tokens, t.abort_request_time, t.abort_reason,
        t.check_time, t.end_time, t.outcome::text, NULL::bytea, NULL::bytea)::turn_row END AS turn
FROM listed AS h
LEFT JOIN LATERAL (
    SELECT x.* FROM thread_heads AS x
    WHERE x.namespace = $1 AND x.thread_id = h.child_thread_id AND h.close_time IS NULL LIMIT 1) AS c ON true
LEFT JOIN LATERAL (
    SELECT x.* FROM agent_slots AS x
    WHERE x.namespace = $1 AND x.agent_id = h.agent_id AND h.close_time IS NULL LIMIT 1) AS s ON true
LEFT JOIN LATERAL (
    SELECT x.* FROM turns AS x
    WHERE x.namespace = $1 AND x.turn_id = c.turn_id LIMIT 1) AS t ON true
ORDER BY h.seen
