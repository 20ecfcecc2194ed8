-- Finished and closed are two steps for work whose parent collects its result: between them the end is
-- fixed, the status is not, and there is a time at which it is closed all the same.
ALTER TABLE handoffs ADD COLUMN due_time timestamptz;

COMMENT ON COLUMN handoffs.due_time IS 'When the reconciler looks at it: the end of the collection window of a result that its parent thread is to collect.';

CREATE INDEX handoffs_due_idx ON handoffs (due_time) WHERE due_time IS NOT NULL;

ALTER TABLE handoffs ADD CONSTRAINT handoffs_due_check CHECK (
    (due_time IS NOT NULL) = (finish_time IS NOT NULL AND close_time IS NULL));

-- Only what a parent thread collects waits for its closing, and it ended with a result.
ALTER TABLE handoffs ADD CONSTRAINT handoffs_uncollected_check CHECK (
    finish_time IS NULL OR close_time IS NOT NULL
    OR (on_completion = 'return' AND parent_thread_id IS NOT NULL
        AND result_version = report_version AND outcome IN ('succeeded', 'blocked', 'failed')));

-- Promise 3, now that an end is fixed before it is closed: nothing of it changes after the finish, and
-- from then on the status has one step left.
DROP TRIGGER handoffs_end_is_final ON handoffs;

CREATE TRIGGER handoffs_end_is_final BEFORE UPDATE ON handoffs FOR EACH ROW
    WHEN ((OLD.close_time IS NOT NULL
            AND (NEW.status, NEW.close_time) IS DISTINCT FROM (OLD.status, OLD.close_time))
        OR (OLD.finish_time IS NOT NULL
            AND (NEW.outcome, NEW.outcome_stated, NEW.finish_time, NEW.error, NEW.report_version,
                    NEW.result_version)
                IS DISTINCT FROM
                (OLD.outcome, OLD.outcome_stated, OLD.finish_time, OLD.error, OLD.report_version,
                    OLD.result_version))
        OR (OLD.finish_time IS NOT NULL AND NEW.close_time IS NULL AND NEW.status <> OLD.status))
    EXECUTE FUNCTION handoffs_freeze_end();

CREATE TYPE handoff_row_2 AS (
    address tid, version bigint,
    handoff_id uuid, parent_thread_id uuid, child_thread_id uuid, agent_id text, title text,
    attempt integer, on_completion text, on_turn_lost text, status text, outcome text,
    outcome_stated boolean, error jsonb, report_version bigint, result_version bigint,
    progress_mail_number bigint, event_number bigint, reminders_sent integer,
    reminder_time timestamptz, reminder_mail_number bigint, stop_turn_id uuid, idempotency_key text,
    create_time timestamptz, first_turn_time timestamptz, finish_time timestamptz,
    close_time timestamptz, update_time timestamptz, due_time timestamptz
);
