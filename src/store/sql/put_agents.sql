-- Agents as they were put, under the lock of their slots. The first one makes the namespace.
INSERT INTO agents (
    namespace, agent_id, display_name, description, accepts_handoffs, on_turn_lost,
    default_deadline, claim_deadline, create_time, update_time)
SELECT
    $1, r.agent_id, r.display_name, r.description, r.accepts_handoffs, r.on_turn_lost,
    r.default_deadline, r.claim_deadline, r.create_time, r.update_time
FROM unnest($rows::agent_row_2[]) AS r
ON CONFLICT (namespace, agent_id) DO UPDATE SET
    display_name = excluded.display_name, description = excluded.description,
    accepts_handoffs = excluded.accepts_handoffs, on_turn_lost = excluded.on_turn_lost,
    default_deadline = excluded.default_deadline, claim_deadline = excluded.claim_deadline,
    update_time = excluded.update_time
RETURNING 1
