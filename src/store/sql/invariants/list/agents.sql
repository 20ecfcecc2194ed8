-- By the bytes of the id, whatever the collation of the database.
(SELECT agent_id COLLATE "C" AS id FROM agents
    WHERE namespace = $1 AND agent_id COLLATE "C" > coalesce($2::text, '')
    ORDER BY 1 LIMIT $3)
UNION
(SELECT agent_id COLLATE "C" FROM agent_slots
    WHERE namespace = $1 AND agent_id COLLATE "C" > coalesce($2, '')
    ORDER BY 1 LIMIT $3)
ORDER BY 1 LIMIT $3
