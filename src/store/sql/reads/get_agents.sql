-- Agents by id, with what they do now.
WITH live AS (
    -- Not the count of slots: a turn that was claimed while its agent was unlimited holds none, and
    -- lives all the same. Once for the whole page, over what lives in the namespace.
    SELECT agent_id, count(*) FROM turns
    WHERE namespace = $1 AND end_time IS NULL AND agent_id = ANY ($2)
    GROUP BY agent_id
)
SELECT
    a.agent_id, a.display_name, a.description, a.accepts_handoffs, a.on_turn_lost,
    a.default_deadline, a.claim_deadline, a.create_time, a.update_time, s.state::text AS "state!", s.max_turns,
    coalesce(live.count, 0) AS "live_turns!"
FROM unnest($2::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT * FROM agents WHERE namespace = $1 AND agent_id = wanted.id LIMIT 1) AS a
CROSS JOIN LATERAL (
    SELECT * FROM agent_slots WHERE namespace = $1 AND agent_id = wanted.id LIMIT 1) AS s
LEFT JOIN live ON live.agent_id = a.agent_id
ORDER BY a.agent_id COLLATE "C"
