-- Mail.
INSERT INTO messages (
    namespace, to_thread_id, mail_number, message_id, from_thread_id, from_agent_id,
    handoff_id, kind, subject, body, data, artifacts, bytes, outcome, in_reply_to, report_version,
    quiet, wakes, rated, late, exception, create_time)
SELECT
    $1, r.to_thread_id, r.mail_number, r.message_id, r.from_thread_id, r.from_agent_id,
    r.handoff_id, r.kind::message_kind, r.subject, r.body, r.data, r.artifacts, r.bytes, r.outcome,
    r.in_reply_to, r.report_version, r.quiet, r.wakes, r.rated, r.late,
    r.exception::message_exception, r.create_time
FROM unnest($rows::message_row[]) AS r
RETURNING 1
