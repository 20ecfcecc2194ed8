-- How long work may run, counted from its first turn, and how long it may wait to be begun; both with the
-- defaults of its agent.
ALTER TABLE agents ADD COLUMN default_deadline bigint;
ALTER TABLE agents ADD COLUMN claim_deadline bigint;
ALTER TABLE agents ADD CONSTRAINT agents_deadlines_check CHECK (default_deadline > 0 AND claim_deadline > 0);

COMMENT ON COLUMN agents.default_deadline IS 'Microseconds that its handoffs may run that do not say; NULL is no limit.';
COMMENT ON COLUMN agents.claim_deadline IS 'Microseconds that its handoffs may wait to be begun before they fail; NULL lets them wait.';

ALTER TABLE handoffs ADD COLUMN deadline bigint;
ALTER TABLE handoffs ADD COLUMN deadline_time timestamptz;
ALTER TABLE handoffs ADD COLUMN deadline_version bigint NOT NULL DEFAULT 0;
ALTER TABLE handoffs ADD COLUMN claim_deadline_time timestamptz;

COMMENT ON COLUMN handoffs.deadline IS 'Microseconds that it may run, from the first turn, or where it was set later from then; NULL is no limit.';
COMMENT ON COLUMN handoffs.deadline_time IS 'When it has run too long; NULL before the first turn.';
COMMENT ON COLUMN handoffs.deadline_version IS 'Grows each time the deadline is set; 0 where it never was.';
COMMENT ON COLUMN handoffs.claim_deadline_time IS 'When it has waited too long to be begun; NULL where it may wait.';
COMMENT ON COLUMN handoffs.due_time IS 'When the reconciler looks at it: the earliest of the end of an open watch, the deadline and, before the first turn, the claim deadline; of finished work the end of its collection window.';

ALTER TABLE handoffs DROP CONSTRAINT handoffs_due_check;
ALTER TABLE handoffs ADD CONSTRAINT handoffs_due_check CHECK (
    CASE
        WHEN close_time IS NOT NULL THEN due_time IS NULL
        WHEN finish_time IS NOT NULL THEN due_time IS NOT NULL
        ELSE due_time IS NOT DISTINCT FROM least(
            CASE WHEN status IN ('started', 'running') THEN watch_time END,
            deadline_time,
            CASE WHEN first_turn_time IS NULL THEN claim_deadline_time END)
    END);
ALTER TABLE handoffs ADD CONSTRAINT handoffs_deadline_check CHECK (
    (deadline IS NULL) = (deadline_version = 0) AND deadline > 0
    AND (deadline_time IS NOT NULL) = (deadline IS NOT NULL AND first_turn_time IS NOT NULL));

CREATE TYPE handoff_row_4 AS (
    address tid, version bigint,
    handoff_id uuid, parent_thread_id uuid, child_thread_id uuid, agent_id text, title text,
    attempt integer, on_completion text, on_turn_lost text, status text, outcome text,
    outcome_stated boolean, error jsonb, report_version bigint, result_version bigint,
    progress_mail_number bigint, event_number bigint, reminders_sent integer,
    reminder_time timestamptz, reminder_mail_number bigint, stop_turn_id uuid, idempotency_key text,
    create_time timestamptz, first_turn_time timestamptz, finish_time timestamptz,
    close_time timestamptz, update_time timestamptz, due_time timestamptz,
    watch_time timestamptz, watch_turn_id uuid,
    deadline bigint, deadline_time timestamptz, deadline_version bigint, claim_deadline_time timestamptz
);

CREATE TYPE agent_row_2 AS (
    agent_id text, display_name text, description text, accepts_handoffs boolean, on_turn_lost text,
    default_deadline bigint, claim_deadline bigint, create_time timestamptz, update_time timestamptz
);
