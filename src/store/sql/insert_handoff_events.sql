-- Timelines.
INSERT INTO handoff_events (
    namespace, handoff_id, number, time, from_status, to_status, actor_kind, actor_id, reason,
    text, turn_id, report_version)
SELECT
    $1, r.handoff_id, r.number, r.time, r.from_status::handoff_status,
    r.to_status::handoff_status, r.actor_kind, r.actor_id, r.reason, r.text, r.turn_id,
    r.report_version
FROM unnest($rows::handoff_event_row[]) AS r
RETURNING 1
