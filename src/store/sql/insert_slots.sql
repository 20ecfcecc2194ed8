-- Slots of new agents; somebody may have put the same one first.
INSERT INTO agent_slots (
    namespace, agent_id, state, max_turns, live_turns, version)
SELECT
    $1, r.agent_id, r.state::agent_state, r.max_turns, r.live_turns, 1
FROM unnest($rows::slots_row[]) AS r
ON CONFLICT (namespace, agent_id) DO NOTHING
RETURNING 1
