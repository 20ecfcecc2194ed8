-- History.
INSERT INTO thread_events (
    namespace, thread_id, number, time, kind, late, turn_id, content)
SELECT
    $1, r.thread_id, r.number, r.time, r.kind, r.late, r.turn_id, r.content
FROM unnest($rows::thread_event_row[]) AS r
RETURNING 1
