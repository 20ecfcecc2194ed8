-- Agents: who may be given work. The slots row is the hot part, locked whenever a turn of a limited
-- agent begins or ends; the agents row changes only by PutAgent.
CREATE TYPE agent_state AS ENUM ('active', 'deactivated');

CREATE TABLE agents (
    namespace        text        NOT NULL,
    agent_id         text        NOT NULL,
    display_name     text        NOT NULL,
    description      text        NOT NULL,
    accepts_handoffs boolean,
    on_turn_lost     text,
    create_time      timestamptz NOT NULL,
    update_time      timestamptz NOT NULL,
    CONSTRAINT agents_pkey PRIMARY KEY (namespace, agent_id),
    CONSTRAINT agents_namespace_fkey FOREIGN KEY (namespace) REFERENCES namespaces (namespace),
    CONSTRAINT agents_on_turn_lost_check CHECK (on_turn_lost IN ('retry', 'fail'))
);

COMMENT ON COLUMN agents.accepts_handoffs IS 'Whether handoffs may target it; NULL leaves it to the server''s default_accept_handoffs.';
COMMENT ON COLUMN agents.on_turn_lost IS 'What a lost turn does to a handoff that does not say; NULL is retry.';

-- A target may be named by display name where that is unique.
CREATE INDEX agents_display_name_idx ON agents (namespace, lower(display_name));
-- Lists go by the bytes of the id, whatever the collation of the database.
CREATE INDEX agents_agent_id_bytes_idx ON agents (namespace, agent_id COLLATE "C");

CREATE TABLE agent_slots (
    namespace  text        NOT NULL,
    agent_id   text        NOT NULL,
    state      agent_state NOT NULL,
    max_turns  integer,
    live_turns integer     NOT NULL,
    version    bigint      NOT NULL,
    CONSTRAINT agent_slots_pkey PRIMARY KEY (namespace, agent_id),
    CONSTRAINT agent_slots_max_turns_check CHECK (max_turns >= 0),
    CONSTRAINT agent_slots_live_turns_check CHECK (live_turns >= 0)
) WITH (fillfactor = 50);

COMMENT ON COLUMN agent_slots.max_turns IS 'Turns that may live at once over all runtimes; 0 is none, NULL is no limit.';
COMMENT ON COLUMN agent_slots.live_turns IS 'Live turns that hold a slot; a turn claimed while the agent was unlimited holds none.';

-- A connected runtime. A restart is a new incarnation, and ends the older one''s right to claim.
CREATE TABLE runtimes (
    namespace     text        NOT NULL,
    runtime_id    text        NOT NULL,
    incarnation   bigint      NOT NULL,
    description   text        NOT NULL,
    register_time timestamptz NOT NULL,
    receive_time  timestamptz NOT NULL,
    CONSTRAINT runtimes_pkey PRIMARY KEY (namespace, runtime_id),
    CONSTRAINT runtimes_incarnation_check CHECK (incarnation > 0)
) WITH (fillfactor = 70);

COMMENT ON COLUMN runtimes.receive_time IS 'When it last asked for turns: a lazy mark, moved at most every few seconds.';
