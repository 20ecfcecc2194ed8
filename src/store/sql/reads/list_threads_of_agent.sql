-- Threads of an agent, by threads_agent_idx.
SELECT thread_id, agent_id, hidden, listed FROM threads
WHERE namespace = $1 AND agent_id = $4 AND thread_id > $2
ORDER BY agent_id, thread_id LIMIT $3
