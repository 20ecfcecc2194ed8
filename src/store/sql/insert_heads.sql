-- Heads of new threads.
INSERT INTO thread_heads (
    namespace, thread_id, agent_id, parent_thread_id, drive, turn_id, turn_number,
    turn_running, event_number, mail_number, given_through, consumed_through, waking_unread,
    wake_time, wake_count, handoff_id, handoff_unfinished, lost_turns, lost_given_through,
    awaited_children, live_children, tool_calls, last_tool, last_tool_time, input_tokens,
    output_tokens, response_number, last_activity_time, due_time, waited_time, delete_time, update_time,
    version)
SELECT
    $1, r.thread_id, r.agent_id, r.parent_thread_id, r.drive::thread_drive, r.turn_id,
    r.turn_number, r.turn_running, r.event_number, r.mail_number, r.given_through,
    r.consumed_through, r.waking_unread, r.wake_time, r.wake_count, r.handoff_id,
    r.handoff_unfinished, r.lost_turns, r.lost_given_through, r.awaited_children,
    r.live_children, r.tool_calls, r.last_tool, r.last_tool_time, r.input_tokens,
    r.output_tokens, r.response_number, r.last_activity_time, r.due_time, r.waited_time, r.delete_time,
    r.update_time, 1
FROM unnest($rows::head_row[]) AS r
RETURNING 1
