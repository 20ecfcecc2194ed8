-- Promise 8: a child whose newest handoff has ended is not looked at any more.
SELECT h.namespace, h.thread_id, h.handoff_id, h.due_time
FROM thread_heads AS h
WHERE h.due_time IS NOT NULL AND NOT h.handoff_unfinished
