-- Handoffs: the record that a parent gave work to a child thread, its assignment, its reports and
-- its timeline.
CREATE TYPE handoff_status AS ENUM (
    'started', 'running',
    'completed', 'error', 'cancelled', 'materialize_failed', 'expired_unnotified', 'abandoned');
CREATE TYPE handoff_outcome AS ENUM ('succeeded', 'failed', 'blocked', 'cancelled', 'abandoned');
CREATE TYPE on_completion AS ENUM ('notify', 'none');
CREATE TYPE on_turn_lost AS ENUM ('retry', 'fail');
CREATE TYPE report_kind AS ENUM ('report', 'result', 'end');

CREATE TABLE handoffs (
    namespace            text           NOT NULL,
    handoff_id           uuid           NOT NULL,
    parent_thread_id     uuid,
    child_thread_id      uuid,
    agent_id             text           NOT NULL,
    title                text           NOT NULL,
    attempt              integer        NOT NULL,
    on_completion        on_completion  NOT NULL,
    on_turn_lost         on_turn_lost   NOT NULL,
    status               handoff_status NOT NULL,
    outcome              handoff_outcome,
    outcome_stated       boolean        NOT NULL,
    error                jsonb,
    report_version       bigint         NOT NULL,
    result_version       bigint,
    progress_mail_number bigint,
    event_number         bigint         NOT NULL,
    reminders_sent       integer        NOT NULL,
    reminder_time        timestamptz,
    reminder_mail_number bigint,
    stop_turn_id         uuid,
    idempotency_key      text,
    create_time          timestamptz    NOT NULL,
    first_turn_time      timestamptz,
    finish_time          timestamptz,
    close_time           timestamptz,
    update_time          timestamptz    NOT NULL,
    version              bigint         NOT NULL,
    CONSTRAINT handoffs_parent_fkey FOREIGN KEY (namespace, parent_thread_id) REFERENCES threads (namespace, thread_id),
    CONSTRAINT handoffs_child_fkey FOREIGN KEY (namespace, child_thread_id) REFERENCES threads (namespace, thread_id),
    CONSTRAINT handoffs_child_check CHECK ((child_thread_id IS NULL) = (status = 'materialize_failed')),
    CONSTRAINT handoffs_closed_check CHECK (
        (status IN ('completed', 'error', 'cancelled', 'materialize_failed', 'expired_unnotified', 'abandoned'))
        = (close_time IS NOT NULL)),
    CONSTRAINT handoffs_finished_check CHECK (
        (finish_time IS NULL) = (outcome IS NULL) AND (close_time IS NULL OR finish_time IS NOT NULL)),
    CONSTRAINT handoffs_outcome_check CHECK (
        CASE status
            WHEN 'error' THEN outcome = 'failed'
            WHEN 'materialize_failed' THEN outcome = 'failed'
            WHEN 'cancelled' THEN outcome = 'cancelled'
            WHEN 'abandoned' THEN outcome = 'abandoned'
            WHEN 'completed' THEN outcome IN ('succeeded', 'blocked', 'failed')
            WHEN 'expired_unnotified' THEN outcome IN ('succeeded', 'blocked', 'failed')
            ELSE true
        END),
    CONSTRAINT handoffs_started_check CHECK (status <> 'started' OR first_turn_time IS NULL),
    CONSTRAINT handoffs_running_check CHECK (status <> 'running' OR first_turn_time IS NOT NULL),
    CONSTRAINT handoffs_attempt_check CHECK (attempt >= 1)
) WITH (fillfactor = 80);

COMMENT ON COLUMN handoffs.result_version IS 'The report that is the result, where one completed the handoff.';
COMMENT ON COLUMN handoffs.progress_mail_number IS 'Newest PROGRESS in the parent''s mailbox.';
COMMENT ON COLUMN handoffs.reminder_mail_number IS 'The reminder in the child''s mailbox that is still outstanding.';
COMMENT ON COLUMN handoffs.stop_turn_id IS 'The child''s turn that was asked to stop.';

CREATE INDEX handoffs_open_idx ON handoffs (namespace, handoff_id) WHERE close_time IS NULL;
CREATE INDEX handoffs_parent_idx ON handoffs (namespace, parent_thread_id, handoff_id)
    WHERE parent_thread_id IS NOT NULL;
CREATE INDEX handoffs_agent_idx ON handoffs (namespace, agent_id, handoff_id) WHERE close_time IS NULL;
-- A thread has at most one unfinished handoff.
CREATE UNIQUE INDEX handoffs_unfinished_child_key ON handoffs (namespace, child_thread_id)
    WHERE finish_time IS NULL AND child_thread_id IS NOT NULL;
CREATE UNIQUE INDEX handoffs_attempt_key ON handoffs (namespace, child_thread_id, attempt)
    WHERE child_thread_id IS NOT NULL;

-- Last, on purpose: on a table that was never analysed every index that holds the column looks alike
-- to the planner, and it takes the newest.
ALTER TABLE handoffs ADD CONSTRAINT handoffs_pkey PRIMARY KEY (namespace, handoff_id);

-- Promise 3: nothing that an end fixed changes after it, whatever code asks.
CREATE FUNCTION handoffs_freeze_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'handoff % has ended and cannot change', OLD.handoff_id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'handoffs_end_is_final', TABLE = 'handoffs';
END;
$$;

CREATE TRIGGER handoffs_end_is_final BEFORE UPDATE ON handoffs FOR EACH ROW
    WHEN ((OLD.close_time IS NOT NULL
            AND (NEW.status, NEW.close_time, NEW.error, NEW.report_version, NEW.result_version)
                IS DISTINCT FROM
                (OLD.status, OLD.close_time, OLD.error, OLD.report_version, OLD.result_version))
        OR (OLD.finish_time IS NOT NULL
            AND (NEW.outcome, NEW.outcome_stated, NEW.finish_time)
                IS DISTINCT FROM (OLD.outcome, OLD.outcome_stated, OLD.finish_time)))
    EXECUTE FUNCTION handoffs_freeze_end();

-- What the child was asked to do, shown in its prompt as process state.
CREATE TABLE assignments (
    namespace    text  NOT NULL,
    handoff_id   uuid  NOT NULL,
    task         text  NOT NULL,
    context_data jsonb,
    CONSTRAINT assignments_pkey PRIMARY KEY (namespace, handoff_id)
);

-- What the child said or what ended it, one row a version.
CREATE TABLE reports (
    namespace    text            NOT NULL,
    handoff_id   uuid            NOT NULL,
    version      bigint          NOT NULL,
    kind         report_kind     NOT NULL,
    outcome      handoff_outcome NOT NULL,
    body         text,
    data         jsonb,
    artifacts    text[]          NOT NULL,
    mail_number  bigint,
    create_time  timestamptz     NOT NULL,
    deliver_time timestamptz,
    CONSTRAINT reports_pkey PRIMARY KEY (namespace, handoff_id, version),
    CONSTRAINT reports_handoff_fkey FOREIGN KEY (namespace, handoff_id) REFERENCES handoffs (namespace, handoff_id)
);

COMMENT ON COLUMN reports.mail_number IS 'The mail in the parent''s mailbox that carried it; NULL where it was not mailed.';
COMMENT ON COLUMN reports.deliver_time IS 'When the parent acknowledged the version by name.';

CREATE TABLE handoff_events (
    namespace   text        NOT NULL,
    handoff_id  uuid        NOT NULL,
    number      bigint      NOT NULL,
    time        timestamptz NOT NULL,
    from_status handoff_status,
    to_status   handoff_status NOT NULL,
    actor_kind  text        NOT NULL,
    actor_id    text        NOT NULL,
    reason      text        NOT NULL,
    text        text        NOT NULL,
    turn_id     uuid,
    report_version bigint,
    CONSTRAINT handoff_events_pkey PRIMARY KEY (namespace, handoff_id, number)
) PARTITION BY RANGE (handoff_id);

CREATE TABLE handoff_events_default PARTITION OF handoff_events DEFAULT;
