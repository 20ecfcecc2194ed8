-- Everything that status, waits and results rest on, for many handoffs of any tenants in one
-- snapshot, with the time. Each LATERAL is one descent by id, so that the cost follows what is asked.
-- Texts, which may be long and stored apart from their rows, are touched only where they are wanted.
SELECT
    asked.namespace,
    handoffd_now() AS now,
    ROW(
        NULL::tid, h.version, h.handoff_id, h.parent_thread_id, h.child_thread_id,
        h.agent_id, h.title, h.attempt, h.on_completion::text, h.on_turn_lost::text,
        h.status::text, h.outcome::text, h.outcome_stated, h.error, h.report_version,
        h.result_version, h.progress_mail_number, h.event_number, h.reminders_sent,
        h.reminder_time, h.reminder_mail_number, h.stop_turn_id, h.idempotency_key,
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
    CASE WHEN t.turn_id = c.turn_id THEN ROW(
        NULL::tid, t.version, t.turn_id, t.thread_id, t.handoff_id, t.agent_id,
        t.runtime_id, t.incarnation, t.holds_slot, t.token, t.state::text,
        t.claim_time, t.lease_expire_time, t.heartbeat_time, t.activity_time,
        t.activity_number, t.tool_calls, t.last_tool, t.last_tool_time,
        CASE WHEN asked.progress THEN t.partial_text END,
        t.input_tokens, t.output_tokens, t.abort_request_time, t.abort_reason,
        t.check_time, t.end_time, t.outcome::text, t.finish_fingerprint, t.finish_answer)::turn_row END AS turn,
    ARRAY(
        SELECT w.handoff_id FROM handoffs AS w
        WHERE w.namespace = asked.namespace AND w.parent_thread_id = c.thread_id
            AND w.finish_time IS NULL AND w.on_completion <> 'none' AND c.awaited_children > 0
        ORDER BY w.handoff_id LIMIT 10) AS children,
    p.agent_id AS parent_agent_id,
    p.consumed_through AS parent_consumed_through,
    p.turn_id IS NOT NULL AS parent_in_turn,
    p.last_activity_time AS parent_active_time,
    -- Its claim is no sign of life of a turn that made no call since.
    CASE WHEN t.state <> 'assigned' AND t.outcome IS DISTINCT FROM 'unclaimed'
        THEN t.heartbeat_time END AS last_heartbeat_time,
    u.receive_time AS last_poll_time,
    (SELECT e.time FROM thread_events AS e
        WHERE e.namespace = asked.namespace AND e.thread_id = c.thread_id
            AND e.number = c.event_number) AS last_event_time,
    (SELECT e.time FROM thread_events AS e
        WHERE e.namespace = asked.namespace AND e.thread_id = c.thread_id AND e.kind = 'mail'
        ORDER BY e.number DESC LIMIT 1) AS last_delivery_time,
    -- Whether the newest report reached the parent follows from these and the parent's mark.
    n.mail_number AS report_mail_number,
    n.deliver_time AS report_deliver_time,
    n.create_time AS report_create_time,
    (SELECT x.end_time IS NULL FROM turns AS x
        WHERE x.namespace = asked.namespace AND x.turn_id = n.reader_turn_id) AS report_in_reading,
    m.exception::text AS report_exception,
    CASE WHEN asked.report AND n.version IS NOT NULL THEN ROW(
        n.handoff_id, n.version, n.kind::text, n.outcome::text, n.body, n.data, n.artifacts,
        n.mail_number, n.reader_turn_id, n.create_time, n.deliver_time)::report_row_2 END AS newest_report,
    m.message_id AS report_message_id,
    CASE WHEN asked.report THEN m.subject END AS report_subject,
    CASE WHEN asked.report THEN m.body END AS report_body,
    (SELECT coalesce(o.body, (
            SELECT om.body FROM messages AS om
            WHERE om.namespace = asked.namespace AND om.to_thread_id = h.parent_thread_id
                AND om.mail_number = o.mail_number))
        FROM reports AS o
        WHERE o.namespace = asked.namespace AND o.handoff_id = h.handoff_id
            AND o.version = h.result_version AND asked.result) AS result,
    (SELECT g.body FROM messages AS g
        WHERE g.namespace = asked.namespace AND g.to_thread_id = h.parent_thread_id
            AND g.mail_number = h.progress_mail_number AND asked.progress) AS latest_progress,
    a.abort_request_time AS stop_request_time,
    a.end_time AS stop_acknowledge_time
FROM unnest($1::text[], $2::uuid[], $3::boolean[], $4::boolean[], $5::boolean[])
    AS asked (namespace, handoff_id, progress, result, report)
CROSS JOIN LATERAL (
    SELECT x.* FROM handoffs AS x
    WHERE x.namespace = asked.namespace AND x.handoff_id = asked.handoff_id LIMIT 1) AS h
LEFT JOIN LATERAL (
    SELECT x.* FROM thread_heads AS x
    WHERE x.namespace = asked.namespace AND x.thread_id = h.child_thread_id LIMIT 1) AS c ON true
LEFT JOIN LATERAL (
    SELECT x.* FROM agent_slots AS x
    WHERE x.namespace = asked.namespace AND x.agent_id = h.agent_id LIMIT 1) AS s ON true
-- The turn that began last, for an idle child.
LEFT JOIN LATERAL (
    SELECT x.turn_id FROM thread_events AS x
    WHERE x.namespace = asked.namespace AND x.thread_id = c.thread_id AND x.kind = 'turn_started'
        AND c.turn_id IS NULL
    ORDER BY x.number DESC LIMIT 1) AS b ON true
LEFT JOIN LATERAL (
    SELECT x.* FROM turns AS x
    WHERE x.namespace = asked.namespace AND x.turn_id = coalesce(c.turn_id, b.turn_id) LIMIT 1) AS t ON true
LEFT JOIN LATERAL (
    SELECT x.receive_time FROM runtimes AS x
    WHERE x.namespace = asked.namespace AND x.runtime_id = t.runtime_id LIMIT 1) AS u ON true
LEFT JOIN LATERAL (
    SELECT x.agent_id, x.consumed_through, x.turn_id, x.last_activity_time FROM thread_heads AS x
    WHERE x.namespace = asked.namespace AND x.thread_id = h.parent_thread_id LIMIT 1) AS p ON true
LEFT JOIN LATERAL (
    SELECT x.* FROM reports AS x
    WHERE x.namespace = asked.namespace AND x.handoff_id = h.handoff_id
        AND x.version = h.report_version LIMIT 1) AS n ON true
LEFT JOIN LATERAL (
    SELECT x.message_id, x.subject, x.body, x.exception FROM messages AS x
    WHERE x.namespace = asked.namespace AND x.to_thread_id = h.parent_thread_id
        AND x.mail_number = n.mail_number LIMIT 1) AS m ON true
LEFT JOIN LATERAL (
    SELECT x.abort_request_time, x.end_time FROM turns AS x
    WHERE x.namespace = asked.namespace AND x.turn_id = h.stop_turn_id LIMIT 1) AS a ON true
