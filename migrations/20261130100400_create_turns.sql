-- Turns: one execution of an agent on a thread, held by a runtime under a lease.
CREATE TYPE turn_state AS ENUM ('assigned', 'running', 'ended');
CREATE TYPE turn_outcome AS ENUM ('done', 'failed', 'interrupted', 'aborted', 'lost', 'released', 'unclaimed');

CREATE TABLE turns (
    namespace          text         NOT NULL,
    turn_id            uuid         NOT NULL,
    thread_id          uuid         NOT NULL,
    handoff_id         uuid,
    agent_id           text         NOT NULL,
    runtime_id         text         NOT NULL,
    incarnation        bigint       NOT NULL,
    holds_slot         boolean      NOT NULL,
    token              bigint       NOT NULL,
    state              turn_state   NOT NULL,
    claim_time         timestamptz  NOT NULL,
    lease_expire_time  timestamptz  NOT NULL,
    heartbeat_time     timestamptz  NOT NULL,
    activity_time      timestamptz  NOT NULL,
    activity_number    bigint       NOT NULL,
    tool_calls         bigint       NOT NULL,
    last_tool          text,
    last_tool_time     timestamptz,
    partial_text       text,
    input_tokens       bigint       NOT NULL,
    output_tokens      bigint       NOT NULL,
    abort_request_time timestamptz,
    abort_reason       text,
    check_time         timestamptz,
    end_time           timestamptz,
    outcome            turn_outcome,
    finish_fingerprint bytea,
    finish_answer      bytea,
    version            bigint       NOT NULL,
    CONSTRAINT turns_pkey PRIMARY KEY (namespace, turn_id),
    CONSTRAINT turns_end_check CHECK ((state = 'ended') = (end_time IS NOT NULL) AND (state = 'ended') = (outcome IS NOT NULL)),
    CONSTRAINT turns_check_time_check CHECK ((state = 'ended') = (check_time IS NULL)),
    CONSTRAINT turns_token_check CHECK (token > 0)
) WITH (fillfactor = 60);

COMMENT ON TYPE turn_outcome IS 'done, failed, interrupted, aborted: as finished. lost: its lease ended. released: given back. unclaimed: assigned and never begun.';
COMMENT ON COLUMN turns.holds_slot IS 'Counted in agent_slots.live_turns; false for a turn claimed while its agent was unlimited.';
COMMENT ON COLUMN turns.check_time IS 'Lower bound of the next look at the lease; heartbeats do not move it.';
COMMENT ON COLUMN turns.finish_fingerprint IS 'What FinishTurn said, so that its repeat gets the same answer and another is refused.';

-- Promise 2: a thread never has two live turns.
CREATE UNIQUE INDEX turns_live_thread_key ON turns (namespace, thread_id) WHERE end_time IS NULL;
-- The reconciler finds leases that may have ended.
CREATE INDEX turns_check_idx ON turns (check_time) WHERE end_time IS NULL;
