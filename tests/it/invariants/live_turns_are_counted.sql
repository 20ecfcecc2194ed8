-- The slots taken of an agent are its live turns that hold one.
SELECT s.namespace, s.agent_id, s.live_turns, held.count
FROM agent_slots AS s
CROSS JOIN LATERAL (
    SELECT count(*) FROM turns AS t
    WHERE t.namespace = s.namespace AND t.agent_id = s.agent_id
        AND t.end_time IS NULL AND t.holds_slot
) AS held
WHERE s.live_turns <> held.count
