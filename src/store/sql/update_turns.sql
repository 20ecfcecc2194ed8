-- Turns that changed. Found by address, which the lock holds in place; fenced by version.
-- The bounds are always true: with them the planner expects one row, and goes from it to the table
-- by the whole key even where it knows nothing of the table.
UPDATE turns AS t SET
    state = r.state::turn_state, lease_expire_time = r.lease_expire_time,
    heartbeat_time = r.heartbeat_time, activity_time = r.activity_time,
    activity_number = r.activity_number, tool_calls = r.tool_calls, last_tool = r.last_tool,
    last_tool_time = r.last_tool_time, partial_text = r.partial_text,
    input_tokens = r.input_tokens, output_tokens = r.output_tokens,
    abort_request_time = r.abort_request_time, abort_reason = r.abort_reason,
    check_time = r.check_time, end_time = r.end_time, outcome = r.outcome::turn_outcome,
    finish_fingerprint = r.finish_fingerprint, finish_answer = r.finish_answer,
    version = t.version + 1
FROM (
    SELECT $1::text AS namespace, u.* FROM unnest($rows::turn_row[]) AS u
    WHERE u.version BETWEEN 1 AND 9223372036854775807
    OFFSET 0) AS r
WHERE t.ctid = r.address AND t.namespace = r.namespace AND t.version = r.version
RETURNING 1
