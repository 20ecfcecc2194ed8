-- Threads of everybody, by the primary key.
SELECT thread_id, agent_id, hidden, listed FROM threads
WHERE namespace = $1 AND thread_id > $2
ORDER BY thread_id LIMIT $3
