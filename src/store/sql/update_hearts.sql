-- Turns that beat: plain columns only, so that no index moves. Found by the address they were read at
-- and fenced by the version they had then. In the order of their ids, as all locks are taken.
-- The bounds are always true: with them the planner expects one row, and goes from it to the table
-- by the whole key even where it knows nothing of the table.
UPDATE turns AS t SET
    lease_expire_time = $4, heartbeat_time = $3, activity_time = r.activity_time,
    activity_number = r.activity_number, tool_calls = r.tool_calls, last_tool = r.last_tool,
    last_tool_time = r.last_tool_time, partial_text = coalesce(r.partial_text, t.partial_text),
    input_tokens = r.input_tokens, output_tokens = r.output_tokens,
    version = t.version + 1
FROM (
    SELECT $1::text AS namespace, u.* FROM unnest($2::beat_row[]) AS u
    WHERE u.version BETWEEN 1 AND 9223372036854775807
    OFFSET 0) AS r
WHERE t.ctid = r.address AND t.namespace = r.namespace AND t.version = r.version
