-- Promise 8: after a turn that was lost, given back or interrupted, or that asked for another, the
-- thread has a live turn, or a wake that will make one; unless its work has ended since.
SELECT h.thread_id::text AS subject,
    format('its last turn ended as %s, next %s, and nothing makes a turn',
        lower(last.outcome), coalesce(lower(last.next), 'not said')) AS problem
FROM thread_heads AS h
CROSS JOIN LATERAL (
    SELECT e.content #>> '{content,outcome}' AS outcome, e.content #>> '{content,next}' AS next
    FROM thread_events AS e
    WHERE e.namespace = h.namespace AND e.thread_id = h.thread_id AND e.kind = 'turn_ended'
    ORDER BY e.number DESC LIMIT 1
) AS last
WHERE h.namespace = $1 AND h.thread_id = ANY($2)
    AND h.drive = 'runtime' AND h.delete_time IS NULL
    AND h.turn_id IS NULL AND h.wake_time IS NULL
    AND (h.handoff_id IS NULL OR h.handoff_unfinished)
    AND (last.outcome IN ('Interrupted', 'Released') OR last.next IN ('Continue', 'WakeAt')
        OR (last.outcome = 'Lost' AND h.lost_turns > 0))
