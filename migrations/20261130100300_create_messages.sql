-- Mail: one row a message, inserted once with its body and not updated in its normal life. What was
-- given and consumed are marks on the recipient's head.
CREATE TYPE message_kind AS ENUM ('report', 'progress', 'note', 'reminder', 'notice');
CREATE TYPE message_exception AS ENUM ('consumed', 'set_aside', 'withdrawn');

CREATE TABLE messages (
    namespace      text         NOT NULL,
    to_thread_id   uuid         NOT NULL,
    mail_number    bigint       NOT NULL,
    message_id     uuid         NOT NULL,
    from_thread_id uuid,
    from_agent_id  text,
    handoff_id     uuid,
    kind           message_kind NOT NULL,
    subject        text         NOT NULL,
    body           text         NOT NULL,
    data           jsonb,
    artifacts      text[]       NOT NULL,
    bytes          integer      NOT NULL,
    outcome        text,
    in_reply_to    uuid,
    report_version bigint,
    quiet          boolean      NOT NULL,
    wakes          boolean      NOT NULL,
    rated          boolean      NOT NULL,
    late           boolean      NOT NULL,
    exception      message_exception,
    create_time    timestamptz  NOT NULL,
    CONSTRAINT messages_pkey PRIMARY KEY (namespace, to_thread_id, mail_number),
    CONSTRAINT messages_rated_check CHECK (NOT rated OR from_thread_id IS NOT NULL),
    CONSTRAINT messages_outcome_check CHECK (outcome IN ('succeeded', 'blocked', 'failed', 'cancelled', 'abandoned'))
) PARTITION BY RANGE (to_thread_id);

COMMENT ON COLUMN messages.bytes IS 'What it takes in an answer, about: reads are bounded by it before they touch bodies.';
COMMENT ON COLUMN messages.wakes IS 'Makes a wake or a signal; false for progress, quiet notes and mail of a PULL thread.';
COMMENT ON COLUMN messages.rated IS 'Counts against the pair limit.';
COMMENT ON COLUMN messages.exception IS 'Set only where the marks do not tell: consumed out of order, set aside after lost turns, withdrawn.';

CREATE TABLE messages_default PARTITION OF messages DEFAULT;

-- The rolling window of a sender-recipient pair.
CREATE INDEX messages_pair_idx ON messages (namespace, to_thread_id, from_thread_id, create_time) WHERE rated;
