-- How rows travel between a server and the database: one composite array per table and direction
-- costs a tenth of one array per column. These types stand apart from the tables, so that a table
-- can gain a column while servers of the release before still run; a change of one is a new type.
--
-- address is the row's ctid: it cannot move while the row is locked, so that a write finds again
-- what its lock found without descending an index.
CREATE TYPE head_row AS (
    address tid, version bigint,
    thread_id uuid, agent_id text, parent_thread_id uuid, drive text,
    turn_id uuid, turn_number bigint, turn_running boolean, event_number bigint,
    mail_number bigint, given_through bigint, consumed_through bigint, waking_unread bigint,
    wake_time timestamptz, wake_count bigint, handoff_id uuid, handoff_unfinished boolean,
    lost_turns integer, lost_given_through bigint, awaited_children bigint, live_children bigint,
    tool_calls bigint, last_tool text, last_tool_time timestamptz,
    input_tokens bigint, output_tokens bigint, response_number bigint,
    last_activity_time timestamptz, due_time timestamptz, waited_time timestamptz, delete_time timestamptz, update_time timestamptz
);

CREATE TYPE handoff_row AS (
    address tid, version bigint,
    handoff_id uuid, parent_thread_id uuid, child_thread_id uuid, agent_id text, title text,
    attempt integer, on_completion text, on_turn_lost text, status text, outcome text,
    outcome_stated boolean, error jsonb, report_version bigint, result_version bigint,
    progress_mail_number bigint, event_number bigint, reminders_sent integer,
    reminder_time timestamptz, reminder_mail_number bigint, stop_turn_id uuid, idempotency_key text,
    create_time timestamptz, first_turn_time timestamptz, finish_time timestamptz,
    close_time timestamptz, update_time timestamptz
);

CREATE TYPE turn_row AS (
    address tid, version bigint,
    turn_id uuid, thread_id uuid, handoff_id uuid, agent_id text, runtime_id text, incarnation bigint,
    holds_slot boolean, token bigint, state text, claim_time timestamptz,
    lease_expire_time timestamptz, heartbeat_time timestamptz, activity_time timestamptz,
    activity_number bigint, tool_calls bigint, last_tool text, last_tool_time timestamptz,
    partial_text text, input_tokens bigint, output_tokens bigint,
    abort_request_time timestamptz, abort_reason text, check_time timestamptz, end_time timestamptz,
    outcome text, finish_fingerprint bytea, finish_answer bytea
);

-- A turn as a heartbeat sees it, and what a heartbeat writes of it.
CREATE TYPE heart_row AS (
    address tid, version bigint,
    turn_id uuid, runtime_id text, token bigint, state text, end_time timestamptz, outcome text,
    activity_time timestamptz, activity_number bigint, tool_calls bigint, last_tool text,
    last_tool_time timestamptz, input_tokens bigint, output_tokens bigint, is_told boolean
);

CREATE TYPE beat_row AS (
    address tid, version bigint,
    activity_time timestamptz, activity_number bigint, tool_calls bigint, last_tool text,
    last_tool_time timestamptz, partial_text text, input_tokens bigint, output_tokens bigint
);

CREATE TYPE slots_row AS (
    address tid, version bigint,
    agent_id text, state text, max_turns integer, live_turns integer
);

CREATE TYPE runtime_row AS (
    address tid,
    runtime_id text, incarnation bigint, description text, register_time timestamptz, receive_time timestamptz
);

CREATE TYPE agent_row AS (
    agent_id text, display_name text, description text, accepts_handoffs boolean, on_turn_lost text,
    create_time timestamptz, update_time timestamptz
);

CREATE TYPE thread_row AS (
    thread_id uuid, agent_id text, parent_thread_id uuid, root_thread_id uuid, depth integer,
    role text, drive text, title text, hidden boolean, listed boolean,
    owner_subject text, owner_email text, create_time timestamptz
);

CREATE TYPE message_row AS (
    to_thread_id uuid, mail_number bigint, message_id uuid, from_thread_id uuid, from_agent_id text,
    handoff_id uuid, kind text, subject text, body text, data jsonb, artifacts text[], bytes integer, outcome text,
    in_reply_to uuid, report_version bigint, quiet boolean, wakes boolean, rated boolean, late boolean,
    exception text, create_time timestamptz
);

CREATE TYPE thread_event_row AS (
    thread_id uuid, number bigint, time timestamptz, kind text, late boolean, turn_id uuid, content jsonb
);

CREATE TYPE assignment_row AS (handoff_id uuid, task text, context_data jsonb);

CREATE TYPE report_row AS (
    handoff_id uuid, version bigint, kind text, outcome text, body text, data jsonb, artifacts text[],
    mail_number bigint, create_time timestamptz, deliver_time timestamptz
);

CREATE TYPE handoff_event_row AS (
    handoff_id uuid, number bigint, time timestamptz, from_status text, to_status text,
    actor_kind text, actor_id text, reason text, text text, turn_id uuid, report_version bigint
);

CREATE TYPE key_row AS (
    key_hash bytea, fingerprint bytea, handoff_id uuid, answer bytea, expire_time timestamptz
);

CREATE TYPE mail_except_row AS (thread_id uuid, above bigint, through bigint, exception text);

CREATE TYPE report_delivered_row AS (handoff_id uuid, version bigint, deliver_time timestamptz);

CREATE TYPE mailed_report_row AS (handoff_id uuid, version bigint, mail_number bigint);

CREATE TYPE pair_row AS (to_thread_id uuid, from_thread_id uuid, count bigint, oldest timestamptz);

CREATE TYPE thread_number_row AS (thread_id uuid, number bigint);

CREATE TYPE turn_route_row AS (turn_id uuid, thread_id uuid, slot_of text);

CREATE TYPE thread_route_row AS (
    thread_id uuid, parent_thread_id uuid, handoff_id uuid, turn_id uuid, turn_running boolean
);

CREATE TYPE handoff_route_row AS (handoff_id uuid, parent_thread_id uuid, child_thread_id uuid);

CREATE TYPE work_row AS (
    handoff_id uuid, attempt integer, on_completion text, task text, context_data jsonb, parent_agent_id text
);
