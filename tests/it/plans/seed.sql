-- A service that ran for a while, and whose averages lie: one tenant has most of everything, 150 have
-- next to nothing, and in each a parent has far more children and mail than others. Every invariant holds.
--
-- In groups of ten, thread 0 is a root; 1 to 7 did work for it, 8 waits for a runtime and 9 runs. The
-- work of 1 is for the first root of all. Thread, handoff and turn of a number share their id.
CREATE TEMP TABLE tenants ON COMMIT DROP AS
SELECT 'big' AS namespace, 0 AS tenant, 12000 AS threads, 2000 AS agents
UNION ALL
SELECT 'small-' || n, n, 20, 4 FROM generate_series(1, 150) AS n;

CREATE FUNCTION pg_temp.id_of(tenant integer, n integer) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex(1893456000000 + n * 1000 + tenant), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid
$$;

CREATE TEMP TABLE planted ON COMMIT DROP AS
SELECT x.namespace, x.tenant, n, n % 10 AS part, pg_temp.id_of(x.tenant, n) AS id,
    'agent-' || CASE WHEN n % 2 = 0 THEN 0 ELSE n % x.agents END AS agent_id,
    CASE n % 10
        WHEN 0 THEN NULL
        WHEN 1 THEN pg_temp.id_of(x.tenant, 0)
        ELSE pg_temp.id_of(x.tenant, n - n % 10)
    END AS parent,
    'runtime-' || n % (x.agents / 2) AS runtime_id,
    handoffd_now() - interval '1 day' + n * interval '1 second' AS time
FROM tenants AS x, generate_series(0, x.threads - 1) AS n
ORDER BY n, x.tenant;

INSERT INTO namespaces (namespace, create_time) SELECT namespace, handoffd_now() FROM tenants;

INSERT INTO agents (
    namespace, agent_id, display_name, description, accepts_handoffs, on_turn_lost, create_time, update_time)
SELECT namespace, 'agent-' || n, 'Agent ' || n, 'of a test', true, NULL, handoffd_now(), handoffd_now()
FROM tenants, generate_series(0, agents - 1) AS n;

INSERT INTO agent_slots (namespace, agent_id, state, max_turns, live_turns, version)
SELECT namespace, 'agent-' || n, 'active', NULL, 0, 1
FROM tenants, generate_series(0, agents - 1) AS n;

INSERT INTO runtimes (namespace, runtime_id, incarnation, description, register_time, receive_time)
SELECT namespace, 'runtime-' || n, 1, 'of a test', handoffd_now(), handoffd_now()
FROM tenants, generate_series(0, agents / 2 - 1) AS n;

INSERT INTO threads (
    namespace, thread_id, agent_id, parent_thread_id, root_thread_id, depth, role, drive, title,
    hidden, listed, owner_subject, owner_email, create_time)
SELECT namespace, id, agent_id, parent, coalesce(parent, id), CASE WHEN parent IS NULL THEN 0 ELSE 1 END,
    'task', 'runtime', 'Count the words', false, true, NULL, NULL, time
FROM planted;

INSERT INTO handoffs (
    namespace, handoff_id, parent_thread_id, child_thread_id, agent_id, title, attempt,
    on_completion, on_turn_lost, status, outcome, outcome_stated, error, report_version,
    result_version, progress_mail_number, event_number, reminders_sent, reminder_time,
    reminder_mail_number, stop_turn_id, idempotency_key, create_time, first_turn_time,
    finish_time, close_time, update_time, claim_deadline_time, due_time, version)
SELECT
    namespace, id, parent, id, agent_id, 'Count the words', 1,
    'notify', 'retry',
    CASE part WHEN 8 THEN 'started' WHEN 9 THEN 'running' ELSE 'completed' END::handoff_status,
    CASE WHEN part < 8 THEN 'succeeded' END::handoff_outcome, part < 8, NULL,
    CASE WHEN part < 8 THEN 1 ELSE 0 END,
    CASE WHEN part < 8 THEN 1 END, NULL, CASE part WHEN 8 THEN 1 WHEN 9 THEN 2 ELSE 3 END, 0, NULL,
    NULL, NULL, NULL, time, CASE WHEN part <> 8 THEN time END,
    CASE WHEN part < 8 THEN time END, CASE WHEN part < 8 THEN time END, time,
    CASE WHEN part = 8 THEN time + interval '2 days' END, CASE WHEN part = 8 THEN time + interval '2 days' END, 1
FROM planted
WHERE part > 0;

INSERT INTO assignments (namespace, handoff_id, task, context_data)
SELECT namespace, id, 'Count the words of every page and report the ten longest.', NULL
FROM planted
WHERE part > 0;

INSERT INTO handoff_events (
    namespace, handoff_id, number, time, from_status, to_status, actor_kind, actor_id, reason, text,
    turn_id, report_version)
SELECT namespace, id, e.number, time, e.from_status::handoff_status, e.to_status::handoff_status,
    e.actor, '', e.reason, '', NULL, NULL
FROM planted
CROSS JOIN (VALUES
    (1, NULL, 'started', 'operator', 'created'),
    (2, 'started', 'running', 'turn', 'first_turn'),
    (3, 'running', 'completed', 'turn', 'finished')) AS e (number, from_status, to_status, actor, reason)
WHERE part > 0 AND e.number <= CASE part WHEN 8 THEN 1 WHEN 9 THEN 2 ELSE 3 END;

INSERT INTO turns (
    namespace, turn_id, thread_id, handoff_id, agent_id, runtime_id, incarnation, holds_slot,
    token, state, claim_time, lease_expire_time, heartbeat_time, activity_time,
    activity_number, tool_calls, last_tool, last_tool_time, partial_text, input_tokens,
    output_tokens, abort_request_time, abort_reason, check_time, end_time, outcome,
    finish_fingerprint, finish_answer, version)
SELECT
    namespace, id, id, id, agent_id, runtime_id, 1, false,
    1, CASE part WHEN 9 THEN 'running' ELSE 'ended' END::turn_state, time, time + interval '1 hour', time, time,
    0, 3, 'search', time, NULL, 100,
    100, NULL, NULL, CASE WHEN part = 9 THEN time + interval '2 days' END,
    CASE WHEN part < 9 THEN time END, CASE WHEN part < 9 THEN 'done' END::turn_outcome,
    NULL, NULL, 1
FROM planted
WHERE part NOT IN (0, 8);

-- What children reported; none of it is read where the parent is the first of all.
CREATE TEMP TABLE reported ON COMMIT DROP AS
SELECT namespace, id, parent, agent_id, time,
    row_number() OVER (PARTITION BY namespace, parent ORDER BY n) AS mail_number
FROM planted
WHERE part BETWEEN 1 AND 7;

INSERT INTO messages (
    namespace, to_thread_id, mail_number, message_id, from_thread_id, from_agent_id, handoff_id, kind,
    subject, body, data, artifacts, bytes, outcome, in_reply_to, report_version, quiet, wakes, rated,
    late, exception, create_time)
SELECT
    namespace, parent, mail_number, id, id, agent_id, id, 'report'::message_kind,
    'Counted', 'There are ten of them, and the longest is the first.', NULL::jsonb, '{}'::text[], 100, 'succeeded', NULL::uuid,
    1, false, true, true,
    false, CASE WHEN mail_number % 50 = 0 THEN 'withdrawn' END::message_exception, time
FROM reported
UNION ALL
SELECT
    namespace, id, 1, id, parent, 'agent-0', NULL, 'note',
    'Another page', 'There is one more page.', NULL, '{}', 60, NULL, NULL,
    NULL, false, true, true, false, NULL, time
FROM planted
WHERE part = 9;

INSERT INTO reports (
    namespace, handoff_id, version, kind, outcome, body, data, artifacts, mail_number, create_time,
    deliver_time)
SELECT namespace, id, 1, 'result', 'succeeded', NULL, NULL, '{}', mail_number, time, time
FROM reported;

INSERT INTO thread_events (namespace, thread_id, number, time, kind, late, turn_id, content)
SELECT namespace, id, e.number, time, e.kind, false, CASE WHEN e.number > 1 THEN id END,
    jsonb_build_object('kind', e.kind, 'content', e.content)
FROM planted
CROSS JOIN (VALUES
    (1, 'assignment', '{"attempt": 1}'::jsonb),
    (2, 'turn_started', '{"runtime_id": "runtime-0"}'),
    (3, 'tool_call', '{"name": "search"}'),
    (4, 'tool_result', '{"text": "found"}'),
    (5, 'turn_ended', '{"outcome": "Done", "next": "Finished", "response_text": "There are ten."}')
) AS e (number, kind, content)
WHERE part > 0 AND e.number <= CASE part WHEN 8 THEN 1 WHEN 9 THEN 3 ELSE 5 END;

INSERT INTO thread_heads (
    namespace, thread_id, agent_id, parent_thread_id, drive, turn_id, turn_number,
    turn_running, event_number, mail_number, given_through, consumed_through,
    waking_unread, wake_time, wake_count, handoff_id, handoff_unfinished, lost_turns, lost_given_through,
    awaited_children, live_children, tool_calls, last_tool, last_tool_time, input_tokens,
    output_tokens, response_number, last_activity_time, due_time, delete_time,
    update_time, version)
SELECT
    p.namespace, p.id, p.agent_id, p.parent, 'runtime', CASE part WHEN 9 THEN id END,
    CASE WHEN part IN (0, 8) THEN 0 ELSE 1 END,
    part = 9, CASE part WHEN 0 THEN 0 WHEN 8 THEN 1 WHEN 9 THEN 3 ELSE 5 END,
    mail.count, read.through, read.through,
    waking.count, CASE WHEN part = 8 OR (part = 0 AND waking.count > 0) THEN time END,
    CASE part WHEN 9 THEN 0 WHEN 8 THEN 1 ELSE waking.count END,
    CASE WHEN part > 0 THEN id END, part IN (8, 9), 0, NULL,
    open.count, open.count, 0, NULL, NULL, 0,
    0, CASE WHEN part BETWEEN 1 AND 7 THEN 5 END, time,
    CASE WHEN part IN (8, 9) THEN time + interval '2 days' END, NULL,
    time, 1
FROM planted AS p
LEFT JOIN (
    SELECT namespace, to_thread_id, count(*),
        count(*) FILTER (WHERE wakes AND exception IS NULL) AS waking
    FROM messages GROUP BY namespace, to_thread_id
) AS m ON m.namespace = p.namespace AND m.to_thread_id = p.id
LEFT JOIN (
    SELECT namespace, parent, count(*) FROM planted WHERE part IN (8, 9) GROUP BY namespace, parent
) AS c ON c.namespace = p.namespace AND c.parent = p.id
CROSS JOIN LATERAL (SELECT coalesce(c.count, 0)) AS open (count)
CROSS JOIN LATERAL (SELECT coalesce(m.count, 0)) AS mail (count)
CROSS JOIN LATERAL (SELECT CASE WHEN n = 0 OR part = 9 THEN 0 ELSE mail.count END) AS read (through)
CROSS JOIN LATERAL (SELECT CASE WHEN n = 0 OR part = 9 THEN coalesce(m.waking, 0) ELSE 0 END) AS waking (count);

INSERT INTO idempotency_keys (namespace, key_hash, fingerprint, handoff_id, answer, expire_time)
SELECT namespace, decode(md5(namespace || n), 'hex'), decode(md5(n::text), 'hex'), id, NULL, time + interval '1 day'
FROM planted
WHERE part > 0;

INSERT INTO deferred_effects (namespace, effect_id, kind, subject_id, facts, due_time, attempts)
SELECT namespace, id, 'tell_sender', id, '{}', time + interval '2 days', 0
FROM planted
WHERE part = 7;
