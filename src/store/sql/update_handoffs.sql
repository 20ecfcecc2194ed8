-- Handoffs that changed. Found by address, which the lock holds in place; fenced by version.
UPDATE handoffs AS t SET
    status = r.status::handoff_status, outcome = r.outcome::handoff_outcome,
    outcome_stated = r.outcome_stated, error = r.error, report_version = r.report_version,
    result_version = r.result_version, progress_mail_number = r.progress_mail_number,
    event_number = r.event_number, reminders_sent = r.reminders_sent,
    reminder_time = r.reminder_time, reminder_mail_number = r.reminder_mail_number,
    stop_turn_id = r.stop_turn_id, first_turn_time = r.first_turn_time,
    finish_time = r.finish_time, close_time = r.close_time, update_time = r.update_time,
    version = t.version + 1
FROM unnest($rows::handoff_row[]) AS r
WHERE t.ctid = r.address AND t.namespace = $1 AND t.version = r.version
RETURNING 1
