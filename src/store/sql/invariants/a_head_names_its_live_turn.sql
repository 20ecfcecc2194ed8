-- Promise 2: the turn that a head names lives, is of that thread, holds its newest token, and has
-- begun where the head says so.
SELECT h.thread_id::text AS subject,
    CASE
        WHEN t.turn_id IS NULL THEN 'its live turn does not exist'
        WHEN t.end_time IS NOT NULL THEN format('its live turn has ended as %s', t.outcome)
        ELSE format('its live turn is %s with token %s, by the head %s with token %s', t.state, t.token,
            CASE WHEN h.turn_running THEN 'running' ELSE 'assigned' END, h.turn_number)
    END AS problem
FROM thread_heads AS h
LEFT JOIN turns AS t ON t.namespace = h.namespace AND t.turn_id = h.turn_id
WHERE h.namespace = $1 AND h.thread_id = ANY($2) AND h.turn_id IS NOT NULL
    AND (t.thread_id, t.end_time, t.token, t.state = 'running')
        IS DISTINCT FROM (h.thread_id, NULL::timestamptz, h.turn_number, h.turn_running)
