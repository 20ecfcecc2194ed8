-- The tree that a thread is of.
SELECT root_thread_id FROM threads WHERE namespace = $1 AND thread_id = $2
