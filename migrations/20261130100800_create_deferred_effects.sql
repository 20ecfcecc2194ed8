-- What a transaction leaves to be done in another one, since the rows it is done to are those of
-- strangers, which the first must not lock. Written with its cause, taken away with what it does, so
-- normally there are none.
CREATE TYPE effect_kind AS ENUM ('tell_sender');

CREATE TABLE deferred_effects (
    namespace  text        NOT NULL,
    effect_id  uuid        NOT NULL,
    kind       effect_kind NOT NULL,
    subject_id uuid        NOT NULL,
    facts      jsonb       NOT NULL,
    due_time   timestamptz NOT NULL,
    attempts   integer     NOT NULL,
    CONSTRAINT deferred_effects_pkey PRIMARY KEY (namespace, effect_id),
    CONSTRAINT deferred_effects_attempts_check CHECK (attempts >= 0)
);

COMMENT ON TYPE effect_kind IS 'tell_sender: a thread is told that mail it sent was set aside; its subject is that thread.';
COMMENT ON COLUMN deferred_effects.subject_id IS 'What it is done to. Whoever runs it or puts it off holds the lock of that row, which stands for one of its own.';
COMMENT ON COLUMN deferred_effects.facts IS 'All that must be known to do it.';
COMMENT ON COLUMN deferred_effects.due_time IS 'When it is run: at once, or after a pause where it could not be done.';
COMMENT ON COLUMN deferred_effects.attempts IS 'How often it could not be done.';

-- Any server finds what the one that left it did not come to run.
CREATE INDEX deferred_effects_due_idx ON deferred_effects (due_time);

-- How the rows travel.
CREATE TYPE effect_row AS (
    effect_id uuid, kind text, subject_id uuid, facts jsonb, due_time timestamptz, attempts integer
);

CREATE TYPE effect_put_off_row AS (effect_id uuid, due_time timestamptz);

CREATE TYPE envelope_row AS (
    to_thread_id uuid, from_thread_id uuid, mail_number bigint, message_id uuid, kind text, subject text,
    report_version bigint
);
