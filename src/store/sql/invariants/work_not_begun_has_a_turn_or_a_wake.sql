-- Promise 8: work that no turn has begun has a live turn, or a wake that will make one.
SELECT h.thread_id::text AS subject,
    'its work was not begun, and nothing makes a turn' AS problem
FROM thread_heads AS h
JOIN handoffs AS c ON c.namespace = h.namespace AND c.handoff_id = h.handoff_id
WHERE h.namespace = $1 AND h.thread_id = ANY($2)
    AND c.first_turn_time IS NULL AND c.finish_time IS NULL
    AND h.drive = 'runtime' AND h.delete_time IS NULL
    AND h.turn_id IS NULL AND h.wake_time IS NULL
