-- Root threads of the worker that no runtime drives, each with one unread message of an operator.
-- $1 namespace, $2 milliseconds of the ids, $3 and $4 first and last number. Thread and message share
-- their digits.
WITH wanted AS (
    SELECT (lpad(to_hex($2::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid AS id,
        handoffd_now() AS now
    FROM generate_series($3::bigint, $4::bigint) AS n
),
cold AS (
    INSERT INTO threads (
        namespace, thread_id, agent_id, parent_thread_id, root_thread_id, depth, role, drive,
        title, hidden, listed, owner_subject, owner_email, create_time)
    SELECT $1, id, 'worker', NULL, id, 0, 'main', 'pull', 'of a benchmark', false, true,
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
        $1, id, 'worker', NULL, 'pull', NULL, 0,
        false, 0, 1, 0, 0, 0,
        NULL, 0, NULL, false, 0, NULL,
        0, 0, 0, NULL, NULL, 0,
        0, NULL, now, NULL, NULL, now,
        1
    FROM wanted
)
INSERT INTO messages (
    namespace, to_thread_id, mail_number, message_id, from_thread_id, from_agent_id,
    handoff_id, kind, subject, body, data, artifacts, bytes, outcome, in_reply_to, report_version,
    quiet, wakes, rated, late, exception, create_time)
SELECT
    $1, id, 1, id, NULL, NULL,
    NULL, 'note', 'Chapter read', 'The third chapter is read.', NULL, '{}', 294, NULL, NULL, NULL,
    false, false, false, false, NULL, now
FROM wanted
