-- Agents by id, with what they do now.
SELECT
    a.agent_id, a.display_name, a.description, a.accepts_handoffs, a.on_turn_lost,
    a.create_time, a.update_time, s.state::text AS "state!", s.max_turns,
    -- A turn that was claimed while its agent was unlimited holds no slot, and lives all the same.
    (SELECT count(*) FROM turns AS t
        WHERE t.namespace = $1 AND t.agent_id = a.agent_id AND t.end_time IS NULL) AS "live_turns!"
FROM unnest($2::text[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT * FROM agents WHERE namespace = $1 AND agent_id = wanted.id LIMIT 1) AS a
CROSS JOIN LATERAL (
    SELECT * FROM agent_slots WHERE namespace = $1 AND agent_id = wanted.id LIMIT 1) AS s
ORDER BY a.agent_id COLLATE "C"
