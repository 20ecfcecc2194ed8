-- Where the history of a thread ends.
SELECT event_number FROM thread_heads WHERE namespace = $1 AND thread_id = $2
