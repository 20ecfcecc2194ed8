-- The fencing token grows with each turn of the thread.
SELECT h.namespace, h.thread_id, h.turn_number, t.token
FROM thread_heads AS h
JOIN turns AS t ON t.namespace = h.namespace AND t.thread_id = h.thread_id
WHERE t.token > h.turn_number OR (t.end_time IS NULL AND t.token <> h.turn_number)
