-- A handoff's timeline above a number.
SELECT ROW(
    e.handoff_id, e.number, e.time, e.from_status::text, e.to_status::text, e.actor_kind, e.actor_id,
    e.reason, e.text, e.turn_id, e.report_version)::handoff_event_row AS event
FROM handoff_events AS e
WHERE e.namespace = $1 AND e.handoff_id = $2 AND e.number > $3
ORDER BY e.number
LIMIT $4
