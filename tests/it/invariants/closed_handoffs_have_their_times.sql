-- Promise 3: a terminal status has an outcome and both times, in order; an open one has none.
SELECT c.namespace, c.handoff_id, c.status, c.outcome, c.finish_time, c.close_time
FROM handoffs AS c
WHERE (c.status IN ('started', 'running')) <> (c.close_time IS NULL)
    OR (c.outcome IS NULL) <> (c.finish_time IS NULL)
    OR (c.close_time IS NOT NULL AND (c.finish_time IS NULL OR c.finish_time > c.close_time))
    OR c.finish_time < c.create_time
