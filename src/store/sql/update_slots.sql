-- Slots that changed. Found by address, which the lock holds in place; fenced by version.
UPDATE agent_slots AS t SET
    state = r.state::agent_state, max_turns = r.max_turns, live_turns = r.live_turns,
    version = t.version + 1
FROM unnest($rows::slots_row[]) AS r
WHERE t.ctid = r.address AND t.namespace = $1 AND t.version = r.version
RETURNING 1
