-- Threads below another, by threads_parent_idx.
SELECT thread_id, agent_id, hidden, listed FROM threads
WHERE namespace = $1 AND parent_thread_id = $4 AND thread_id > $2
ORDER BY parent_thread_id, thread_id LIMIT $3
