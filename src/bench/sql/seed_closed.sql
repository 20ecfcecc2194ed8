-- Handoffs for no thread that an operator cancelled before a runtime took them. $1 namespace, $2
-- milliseconds of the ids, $3 and $4 first and last number, $5 agent. Thread and handoff share their digits.
WITH wanted AS (
    SELECT (lpad(to_hex($2::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid AS id,
        handoffd_now() AS now
    FROM generate_series($3::bigint, $4::bigint) AS n
),
cold AS (
    INSERT INTO threads (
        namespace, thread_id, agent_id, parent_thread_id, root_thread_id, depth, role, drive,
        title, hidden, listed, owner_subject, owner_email, create_time)
    SELECT $1, id, $5, NULL, id, 0, 'task', 'runtime', 'Count the words', false, true,
        NULL, NULL, now
    FROM wanted
),
heads AS (
    INSERT INTO thread_heads (
        namespace, thread_id, agent_id, parent_thread_id, drive, turn_id, turn_number,
        turn_running, event_number, mail_number, given_through, consumed_through, waking_unread,
        wake_time, wake_count, handoff_id, handoff_unfinished, lost_turns, lost_given_through,
        awaited_children, live_children, tool_calls, last_tool, last_tool_time, input_tokens,
        output_tokens, response_number, last_activity_time, due_time, delete_time, update_time,
        version)
    SELECT
        $1, id, $5, NULL, 'runtime', NULL, 0,
        false, 1, 0, 0, 0, 0,
        NULL, 0, id, false, 0, NULL,
        0, 0, 0, NULL, NULL, 0,
        0, NULL, now, NULL, NULL, now,
        1
    FROM wanted
),
work AS (
    INSERT INTO handoffs (
        namespace, handoff_id, parent_thread_id, child_thread_id, agent_id, title, attempt,
        on_completion, on_turn_lost, status, outcome, outcome_stated, error, report_version,
        result_version, progress_mail_number, event_number, reminders_sent, reminder_time,
        reminder_mail_number, stop_turn_id, idempotency_key, create_time, first_turn_time,
        finish_time, close_time, update_time, version)
    SELECT
        $1, id, NULL, id, $5, 'Count the words', 1,
        'none', 'retry', 'cancelled', 'cancelled', false, NULL, 1,
        NULL, NULL, 3, 0, NULL,
        NULL, NULL, NULL, now, NULL,
        now, now, now, 1
    FROM wanted
),
tasks AS (
    INSERT INTO assignments (namespace, handoff_id, task, context_data)
    SELECT $1, id, 'Count the words of every page and report the ten longest.', NULL
    FROM wanted
),
history AS (
    INSERT INTO thread_events (namespace, thread_id, number, time, kind, late, turn_id, content)
    SELECT $1, id, 1, now, 'assignment', false, NULL,
        jsonb_build_object('kind', 'assignment', 'content', jsonb_build_object(
            'handoff_id', id, 'attempt', 1))
    FROM wanted
),
ends AS (
    INSERT INTO reports (
        namespace, handoff_id, version, kind, outcome, body, data, artifacts, mail_number,
        create_time, deliver_time)
    SELECT $1, id, 1, 'end', 'cancelled', NULL, NULL, '{}', NULL, now, NULL
    FROM wanted
)
INSERT INTO handoff_events (
    namespace, handoff_id, number, time, from_status, to_status, actor_kind, actor_id, reason,
    text, turn_id, report_version)
SELECT $1, w.id, e.number, w.now, e.before::handoff_status, e.after::handoff_status, 'operator', '',
    e.reason, '', NULL, e.version
FROM wanted AS w
CROSS JOIN (VALUES
    (1, NULL, 'started', 'created', NULL),
    (2, 'started', 'cancelled', 'cancelled', 1),
    (3, 'cancelled', 'cancelled', 'not_notified', NULL)) AS e (number, before, after, reason, version)
