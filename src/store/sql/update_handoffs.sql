-- Handoffs that changed. Found by address, which the lock holds in place; fenced by version.
-- The bounds are always true: with them the planner expects one row, and goes from it to the table
-- by the whole key even where it knows nothing of the table.
UPDATE handoffs AS t SET
    status = r.status::handoff_status, outcome = r.outcome::handoff_outcome,
    outcome_stated = r.outcome_stated, error = r.error, report_version = r.report_version,
    result_version = r.result_version, progress_mail_number = r.progress_mail_number,
    event_number = r.event_number, reminders_sent = r.reminders_sent,
    reminder_time = r.reminder_time, reminder_mail_number = r.reminder_mail_number,
    stop_turn_id = r.stop_turn_id, first_turn_time = r.first_turn_time,
    finish_time = r.finish_time, close_time = r.close_time, update_time = r.update_time,
    due_time = r.due_time, deadline = r.deadline, deadline_time = r.deadline_time,
    deadline_version = r.deadline_version, claim_deadline_time = r.claim_deadline_time,
    version = t.version + 1
FROM (
    SELECT $1::text AS namespace, u.* FROM unnest($rows::handoff_row_4[]) AS u
    WHERE u.version BETWEEN 1 AND 9223372036854775807
    OFFSET 0) AS r
WHERE t.ctid = r.address AND t.namespace = r.namespace AND t.version = r.version
RETURNING 1
