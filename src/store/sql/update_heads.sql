-- Heads that changed. Found by address, which the lock holds in place; fenced by version.
-- The bounds are always true: with them the planner expects one row, and goes from it to the table
-- by the whole key even where it knows nothing of the table.
UPDATE thread_heads AS t SET
    turn_id = r.turn_id, turn_number = r.turn_number, turn_running = r.turn_running,
    event_number = r.event_number, mail_number = r.mail_number,
    given_through = r.given_through, consumed_through = r.consumed_through,
    waking_unread = r.waking_unread, wake_time = r.wake_time, wake_count = r.wake_count,
    handoff_id = r.handoff_id, handoff_unfinished = r.handoff_unfinished,
    lost_turns = r.lost_turns, lost_given_through = r.lost_given_through,
    awaited_children = r.awaited_children, live_children = r.live_children,
    tool_calls = r.tool_calls, last_tool = r.last_tool, last_tool_time = r.last_tool_time,
    input_tokens = r.input_tokens, output_tokens = r.output_tokens,
    response_number = r.response_number, last_activity_time = r.last_activity_time,
    due_time = r.due_time, waited_time = r.waited_time, delete_time = r.delete_time, update_time = r.update_time,
    version = t.version + 1
FROM (
    SELECT $1::text AS namespace, u.* FROM unnest($rows::head_row[]) AS u
    WHERE u.version BETWEEN 1 AND 9223372036854775807
    OFFSET 0) AS r
WHERE t.ctid = r.address AND t.namespace = r.namespace AND t.version = r.version
RETURNING 1
