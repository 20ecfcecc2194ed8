-- Reports and ends.
INSERT INTO reports (
    namespace, handoff_id, version, kind, outcome, body, data, artifacts, mail_number,
    reader_turn_id, create_time, deliver_time)
SELECT
    $1, r.handoff_id, r.version, r.kind::report_kind, r.outcome::handoff_outcome, r.body,
    r.data, r.artifacts, r.mail_number, r.reader_turn_id, r.create_time, r.deliver_time
FROM unnest($rows::report_row_2[]) AS r
RETURNING 1
