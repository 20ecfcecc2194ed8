-- Promise 3: a terminal status has an outcome and both times, in order; an open one has none.
SELECT c.handoff_id::text AS subject,
    format('%s, outcome %s, created %s, finished %s, closed %s', c.status,
        coalesce(c.outcome::text, 'none'), c.create_time,
        coalesce(c.finish_time::text, 'never'), coalesce(c.close_time::text, 'never')) AS problem
FROM handoffs AS c
WHERE c.namespace = $1 AND c.handoff_id = ANY($2)
    AND ((c.status IN ('started', 'running', 'first_response', 'watch_expired')) <> (c.close_time IS NULL)
        OR (c.outcome IS NULL) <> (c.finish_time IS NULL)
        OR (c.close_time IS NOT NULL AND (c.finish_time IS NULL OR c.finish_time > c.close_time))
        OR c.finish_time < c.create_time)
