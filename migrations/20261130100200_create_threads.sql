-- Threads: the cold row (what never changes but by UpdateThread), the hot head that every change of
-- a thread locks, and its append-only history.
CREATE TYPE thread_drive AS ENUM ('runtime', 'pull');

CREATE TABLE threads (
    namespace        text         NOT NULL,
    thread_id        uuid         NOT NULL,
    agent_id         text         NOT NULL,
    parent_thread_id uuid,
    root_thread_id   uuid         NOT NULL,
    depth            integer      NOT NULL,
    role             text         NOT NULL,
    drive            thread_drive NOT NULL,
    title            text         NOT NULL,
    hidden           boolean      NOT NULL,
    listed           boolean      NOT NULL,
    owner_subject    text,
    owner_email      text,
    create_time      timestamptz  NOT NULL,
    CONSTRAINT threads_agent_fkey FOREIGN KEY (namespace, agent_id) REFERENCES agents (namespace, agent_id),
    CONSTRAINT threads_depth_check CHECK ((depth = 0) = (parent_thread_id IS NULL) OR depth > 0)
);

CREATE INDEX threads_parent_idx ON threads (namespace, parent_thread_id, thread_id)
    WHERE parent_thread_id IS NOT NULL;
CREATE INDEX threads_agent_idx ON threads (namespace, agent_id, thread_id);

-- Last, on purpose: on a table that was never analysed every index that holds the column looks alike
-- to the planner, and it takes the newest.
ALTER TABLE threads ADD CONSTRAINT threads_pkey PRIMARY KEY (namespace, thread_id);

-- The one row every send, read, claim, finish and expiry of a thread locks. Its mailbox is a log
-- with two marks: mail up to given_through was handed to the live turn, mail up to consumed_through
-- is done with.
CREATE TABLE thread_heads (
    namespace             text         NOT NULL,
    thread_id             uuid         NOT NULL,
    agent_id              text         NOT NULL,
    parent_thread_id      uuid,
    drive                 thread_drive NOT NULL,
    turn_id               uuid,
    turn_number           bigint       NOT NULL,
    turn_running          boolean      NOT NULL,
    event_number          bigint       NOT NULL,
    mail_number           bigint       NOT NULL,
    given_through         bigint       NOT NULL,
    consumed_through      bigint       NOT NULL,
    waking_unread         bigint       NOT NULL,
    wake_time             timestamptz,
    wake_count            bigint       NOT NULL,
    handoff_id            uuid,
    handoff_unfinished    boolean      NOT NULL,
    lost_turns            integer      NOT NULL,
    lost_given_through    bigint,
    awaited_children      bigint       NOT NULL,
    live_children         bigint       NOT NULL,
    tool_calls            bigint       NOT NULL,
    last_tool             text,
    last_tool_time        timestamptz,
    input_tokens          bigint       NOT NULL,
    output_tokens         bigint       NOT NULL,
    response_number       bigint,
    last_activity_time    timestamptz  NOT NULL,
    due_time              timestamptz,
    waited_time           timestamptz,
    delete_time           timestamptz,
    update_time           timestamptz  NOT NULL,
    version               bigint       NOT NULL,
    CONSTRAINT thread_heads_pkey PRIMARY KEY (namespace, thread_id),
    CONSTRAINT thread_heads_wake_or_turn_check CHECK (turn_id IS NULL OR wake_time IS NULL),
    CONSTRAINT thread_heads_waking_mail_check
        CHECK (waking_unread = 0 OR turn_id IS NOT NULL OR wake_time IS NOT NULL OR delete_time IS NOT NULL),
    CONSTRAINT thread_heads_pull_check
        CHECK (drive = 'runtime' OR (turn_id IS NULL AND wake_time IS NULL AND waking_unread = 0)),
    CONSTRAINT thread_heads_marks_check
        CHECK (0 <= consumed_through AND consumed_through <= given_through AND given_through <= mail_number),
    CONSTRAINT thread_heads_idle_marks_check CHECK (turn_id IS NOT NULL OR given_through = consumed_through),
    CONSTRAINT thread_heads_counts_check
        CHECK (waking_unread >= 0 AND awaited_children >= 0 AND live_children >= awaited_children AND lost_turns >= 0),
    CONSTRAINT thread_heads_handoff_check CHECK (handoff_id IS NOT NULL OR NOT handoff_unfinished),
    CONSTRAINT thread_heads_running_check CHECK (turn_id IS NOT NULL OR NOT turn_running)
) WITH (fillfactor = 70);

COMMENT ON COLUMN thread_heads.turn_number IS 'Turns so far; the number of the live turn is its fencing token.';
COMMENT ON COLUMN thread_heads.turn_running IS 'The live turn made its first call; before that it is merely assigned.';
COMMENT ON COLUMN thread_heads.waking_unread IS 'Unread mail above given_through that must wake; always 0 on a PULL thread.';
COMMENT ON COLUMN thread_heads.wake_time IS 'When a turn is due; the wake of the thread, there is one at most.';
COMMENT ON COLUMN thread_heads.wake_count IS 'What the standing wake was made for, counted.';
COMMENT ON COLUMN thread_heads.lost_turns IS 'Turns lost in a row, since one finished.';
COMMENT ON COLUMN thread_heads.lost_given_through IS 'The least that any of those lost turns was given: only that much is set aside with them.';
COMMENT ON COLUMN thread_heads.awaited_children IS 'Unfinished handoffs of this thread whose end is told to it.';
COMMENT ON COLUMN thread_heads.live_children IS 'All unfinished handoffs of this thread.';
COMMENT ON COLUMN thread_heads.response_number IS 'History number of the turn_ended that carries the latest response.';
COMMENT ON COLUMN thread_heads.due_time IS 'Lower bound of the next look of the reconciler: reminder or abandonment.';
COMMENT ON COLUMN thread_heads.waited_time IS 'Through when it ran or waited for something, as far as is known; may lie ahead. Its quiet time counts from here at the earliest.';

-- A claim takes the oldest wake of an agent.
CREATE INDEX thread_heads_claim_idx ON thread_heads (namespace, agent_id, wake_time) WHERE wake_time IS NOT NULL;
-- The reconciler finds what is due.
CREATE INDEX thread_heads_due_idx ON thread_heads (due_time) WHERE due_time IS NOT NULL;

-- History, numbered per thread without gaps.
CREATE TABLE thread_events (
    namespace text        NOT NULL,
    thread_id uuid        NOT NULL,
    number    bigint      NOT NULL,
    time      timestamptz NOT NULL,
    kind      text        NOT NULL,
    late      boolean     NOT NULL,
    turn_id   uuid,
    content   jsonb       NOT NULL,
    CONSTRAINT thread_events_pkey PRIMARY KEY (namespace, thread_id, number),
    CONSTRAINT thread_events_kind_check CHECK (kind IN (
        'user_message', 'assistant_message', 'tool_call', 'tool_result', 'checkpoint',
        'assignment', 'thread_spawned', 'mail', 'report', 'turn_started', 'turn_ended'))
) PARTITION BY RANGE (thread_id);

-- Status asks when mail was last given, and which turn began last.
CREATE INDEX thread_events_mark_idx ON thread_events (namespace, thread_id, number)
    WHERE kind IN ('mail', 'turn_started');

CREATE TABLE thread_events_default PARTITION OF thread_events DEFAULT;
