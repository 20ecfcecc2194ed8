-- The window of a synchronous creation is stored with the handoff, so that it ends whatever becomes of the
-- call and of its server; and the turn that made the call, which reads the end by the call's answer.
ALTER TABLE handoffs ADD COLUMN watch_time timestamptz;
ALTER TABLE handoffs ADD COLUMN watch_turn_id uuid;

COMMENT ON COLUMN handoffs.watch_time IS 'When the watch window of a synchronous creation ends; NULL where the call did not watch.';
COMMENT ON COLUMN handoffs.watch_turn_id IS 'The parent''s turn that made the synchronous call.';
COMMENT ON COLUMN handoffs.due_time IS 'When the reconciler looks at it: the end of an open watch, or of the collection window of a result that its parent thread is to collect.';

ALTER TABLE handoffs DROP CONSTRAINT handoffs_due_check;
ALTER TABLE handoffs ADD CONSTRAINT handoffs_due_check CHECK (
    CASE
        WHEN close_time IS NOT NULL THEN due_time IS NULL
        WHEN finish_time IS NOT NULL THEN due_time IS NOT NULL
        WHEN status IN ('started', 'running') THEN due_time IS NOT DISTINCT FROM watch_time
        ELSE due_time IS NULL
    END);
ALTER TABLE handoffs ADD CONSTRAINT handoffs_watch_check CHECK (
    (status <> 'watch_expired' OR watch_time IS NOT NULL)
    AND (status <> 'first_response' OR first_turn_time IS NOT NULL)
    AND (watch_turn_id IS NULL OR watch_time IS NOT NULL));

-- A stored status never goes back: started, running, then what a watch leaves, then a terminal one.
CREATE FUNCTION handoffs_refuse_step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'handoff % cannot go from % to %', OLD.handoff_id, OLD.status, NEW.status
        USING ERRCODE = 'check_violation', CONSTRAINT = 'handoffs_status_goes_forward', TABLE = 'handoffs';
END;
$$;

CREATE TRIGGER handoffs_status_goes_forward BEFORE UPDATE ON handoffs FOR EACH ROW
    WHEN (NEW.status <> OLD.status AND NEW.close_time IS NULL
        AND NOT (NEW.status = 'running' AND OLD.status = 'started')
        AND NOT (NEW.status IN ('first_response', 'watch_expired') AND OLD.status IN ('started', 'running')))
    EXECUTE FUNCTION handoffs_refuse_step();

-- A report that the parent's turn read by the answer of its own call: the mail counts as consumed, unless
-- that turn is lost.
ALTER TABLE reports ADD COLUMN reader_turn_id uuid;

COMMENT ON COLUMN reports.reader_turn_id IS 'The parent''s turn that read it by the answer of its own synchronous call: the mail counts as consumed. NULL again where that turn was lost, and the mail came anew.';

CREATE INDEX reports_reader_idx ON reports (namespace, reader_turn_id) WHERE reader_turn_id IS NOT NULL;

CREATE TYPE handoff_row_3 AS (
    address tid, version bigint,
    handoff_id uuid, parent_thread_id uuid, child_thread_id uuid, agent_id text, title text,
    attempt integer, on_completion text, on_turn_lost text, status text, outcome text,
    outcome_stated boolean, error jsonb, report_version bigint, result_version bigint,
    progress_mail_number bigint, event_number bigint, reminders_sent integer,
    reminder_time timestamptz, reminder_mail_number bigint, stop_turn_id uuid, idempotency_key text,
    create_time timestamptz, first_turn_time timestamptz, finish_time timestamptz,
    close_time timestamptz, update_time timestamptz, due_time timestamptz,
    watch_time timestamptz, watch_turn_id uuid
);

CREATE TYPE report_row_2 AS (
    handoff_id uuid, version bigint, kind text, outcome text, body text, data jsonb, artifacts text[],
    mail_number bigint, reader_turn_id uuid, create_time timestamptz, deliver_time timestamptz
);

CREATE TYPE report_returned_row AS (handoff_id uuid, version bigint, mail_number bigint);

CREATE TYPE read_report_row AS (turn_id uuid, message message_row);
