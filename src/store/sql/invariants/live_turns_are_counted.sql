-- Every agent has its slots, and those taken are its live turns that hold one: no ended turn holds a
-- slot.
SELECT looked.id AS subject,
    CASE
        WHEN a.agent_id IS NULL THEN 'there are slots and no agent'
        WHEN s.agent_id IS NULL THEN 'it has no slots'
        ELSE format('%s slots are taken, by %s live turns', s.live_turns, coalesce(held.count, 0))
    END AS problem
FROM unnest($2::text[]) AS looked (id)
LEFT JOIN LATERAL (
    SELECT x.agent_id FROM agents AS x
    WHERE x.namespace = $1 AND x.agent_id = looked.id LIMIT 1) AS a ON true
LEFT JOIN LATERAL (
    SELECT x.agent_id, x.live_turns FROM agent_slots AS x
    WHERE x.namespace = $1 AND x.agent_id = looked.id LIMIT 1) AS s ON true
LEFT JOIN (
    SELECT t.agent_id, count(*) FROM turns AS t
    WHERE t.namespace = $1 AND t.end_time IS NULL AND t.holds_slot
    GROUP BY t.agent_id
) AS held ON held.agent_id = looked.id
WHERE a.agent_id IS NULL OR s.live_turns IS DISTINCT FROM coalesce(held.count, 0)
