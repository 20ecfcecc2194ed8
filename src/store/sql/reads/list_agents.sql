-- In the order of the bytes of the id, whatever the collation of the database.
SELECT agent_id AS "agent_id!: String" FROM agents
WHERE namespace = $1 AND agent_id COLLATE "C" > $2
ORDER BY agent_id COLLATE "C" LIMIT $3
