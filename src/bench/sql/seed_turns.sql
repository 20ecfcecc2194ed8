-- Running turns of root threads of the worker, all held by the first runtime. $1 namespace, $2
-- milliseconds of the ids, $3 and $4 first and last number. Thread and turn share their digits.
-- Their leases are looked at in an hour, so that nothing but heartbeats is measured.
WITH wanted AS (
    SELECT (lpad(to_hex($2::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid AS id,
        handoffd_now() AS now
    FROM generate_series($3::bigint, $4::bigint) AS n
),
cold AS (
    INSERT INTO threads (
        namespace, thread_id, agent_id, parent_thread_id, root_thread_id, depth, role, drive,
        title, hidden, listed, owner_subject, owner_email, create_time)
    SELECT $1, id, 'worker', NULL, id, 0, 'main', 'runtime', 'of a benchmark', false, true,
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
        $1, id, 'worker', NULL, 'runtime', id, 1,
        true, 0, 0, 0, 0, 0,
        NULL, 0, NULL, false, 0, NULL,
        0, 0, 0, NULL, NULL, 0,
        0, NULL, now, NULL, NULL, now,
        1
    FROM wanted
)
INSERT INTO turns (
    namespace, turn_id, thread_id, handoff_id, agent_id, runtime_id, incarnation, holds_slot,
    token, state, claim_time, lease_expire_time, heartbeat_time, activity_time,
    activity_number, tool_calls, last_tool, last_tool_time, partial_text, input_tokens,
    output_tokens, abort_request_time, abort_reason, check_time, end_time, outcome,
    finish_fingerprint, finish_answer, version)
SELECT
    $1, id, id, NULL, 'worker', 'runtime-0', 1, false,
    1, 'running', now, now + interval '1 hour', now, now,
    0, 0, NULL, NULL, NULL, 0,
    0, NULL, NULL, now + interval '1 hour', NULL, NULL,
    NULL, NULL, 1
FROM wanted
