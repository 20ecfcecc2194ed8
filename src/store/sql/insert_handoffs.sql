-- New handoffs.
INSERT INTO handoffs (
    namespace, handoff_id, parent_thread_id, child_thread_id, agent_id, title, attempt,
    on_completion, on_turn_lost, status, outcome, outcome_stated, error, report_version,
    result_version, progress_mail_number, event_number, reminders_sent, reminder_time,
    reminder_mail_number, stop_turn_id, idempotency_key, create_time, first_turn_time,
    finish_time, close_time, update_time, due_time, watch_time, watch_turn_id,
    deadline, deadline_time, deadline_version, claim_deadline_time, version)
SELECT
    $1, r.handoff_id, r.parent_thread_id, r.child_thread_id, r.agent_id, r.title, r.attempt,
    r.on_completion::on_completion, r.on_turn_lost::on_turn_lost, r.status::handoff_status,
    r.outcome::handoff_outcome, r.outcome_stated, r.error, r.report_version, r.result_version,
    r.progress_mail_number, r.event_number, r.reminders_sent, r.reminder_time,
    r.reminder_mail_number, r.stop_turn_id, r.idempotency_key, r.create_time,
    r.first_turn_time, r.finish_time, r.close_time, r.update_time, r.due_time,
    r.watch_time, r.watch_turn_id, r.deadline, r.deadline_time, r.deadline_version,
    r.claim_deadline_time, 1
FROM unnest($rows::handoff_row_4[]) AS r
RETURNING 1
