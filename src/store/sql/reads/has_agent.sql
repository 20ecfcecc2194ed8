-- Whether there is one.
SELECT 1 FROM agents WHERE namespace = $1 AND agent_id = $2
