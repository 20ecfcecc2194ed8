-- Slots that changed. Found by address, which the lock holds in place; fenced by version.
-- The bounds are always true: with them the planner expects one row, and goes from it to the table
-- by the whole key even where it knows nothing of the table.
UPDATE agent_slots AS t SET
    state = r.state::agent_state, max_turns = r.max_turns, live_turns = r.live_turns,
    version = t.version + 1
FROM (
    SELECT $1::text AS namespace, u.* FROM unnest($rows::slots_row[]) AS u
    WHERE u.version BETWEEN 1 AND 9223372036854775807
    OFFSET 0) AS r
WHERE t.ctid = r.address AND t.namespace = r.namespace AND t.version = r.version
RETURNING 1
