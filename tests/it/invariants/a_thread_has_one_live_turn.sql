-- Promise 2: the head and the live turn name each other, and there is no other.
SELECT coalesce(h.namespace, t.namespace) AS namespace, h.thread_id, h.turn_id AS of_head,
    t.turn_id AS of_turns
FROM (SELECT * FROM thread_heads WHERE turn_id IS NOT NULL) AS h
FULL JOIN (SELECT * FROM turns WHERE end_time IS NULL) AS t
    ON t.namespace = h.namespace AND t.turn_id = h.turn_id
WHERE h.thread_id IS NULL OR t.turn_id IS NULL OR t.thread_id <> h.thread_id
    OR h.turn_running <> (t.state = 'running')
