-- Idle root threads; with a wake where $6 says so. $1 namespace, $2 milliseconds of the ids, $3 and
-- $4 first and last number, $5 agent.
WITH wanted AS (
    SELECT (lpad(to_hex($2::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid AS id,
        handoffd_now() AS now
    FROM generate_series($3::bigint, $4::bigint) AS n
),
cold AS (
    INSERT INTO threads (
        namespace, thread_id, agent_id, parent_thread_id, root_thread_id, depth, role, drive,
        title, hidden, listed, owner_subject, owner_email, create_time)
    SELECT $1, id, $5, NULL, id, 0, 'main', 'runtime', 'of a benchmark', false, true, NULL, NULL, now
    FROM wanted
)
INSERT INTO thread_heads (
    namespace, thread_id, agent_id, parent_thread_id, drive, turn_id, turn_number,
    turn_running, event_number, mail_number, given_through, consumed_through, waking_unread,
    wake_time, wake_count, handoff_id, handoff_unfinished, lost_turns, lost_given_through,
    awaited_children, live_children, tool_calls, last_tool, last_tool_time, input_tokens,
    output_tokens, response_number, last_activity_time, due_time, delete_time, update_time, version)
SELECT
    $1, id, $5, NULL, 'runtime', NULL, 0,
    false, 0, 0, 0, 0, 0,
    CASE WHEN $6 THEN now END, CASE WHEN $6 THEN 1 ELSE 0 END, NULL, false, 0, NULL,
    0, 0, 0, NULL, NULL, 0,
    0, NULL, now, NULL, NULL, now, 1
FROM wanted
