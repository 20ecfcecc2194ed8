-- The namespace of a benchmark: a parent agent, a worker agent that takes handoffs, and runtimes in
-- their first life. $1 namespace, $2 runtimes.
WITH tenant AS (
    INSERT INTO namespaces (namespace, create_time) VALUES ($1, handoffd_now())
    ON CONFLICT (namespace) DO NOTHING
),
named AS (
    INSERT INTO agents (
        namespace, agent_id, display_name, description, accepts_handoffs, on_turn_lost,
        create_time, update_time)
    SELECT $1, agent, '', 'of a benchmark', true, NULL, handoffd_now(), handoffd_now()
    FROM unnest('{parent,worker}'::text[]) AS agent
),
slots AS (
    INSERT INTO agent_slots (namespace, agent_id, state, max_turns, live_turns, version)
    SELECT $1, agent, 'active', NULL, 0, 1
    FROM unnest('{parent,worker}'::text[]) AS agent
)
INSERT INTO runtimes (
    namespace, runtime_id, incarnation, description, register_time, receive_time)
SELECT $1, 'runtime-' || n, 1, 'of a benchmark', handoffd_now(), handoffd_now()
FROM generate_series(0, $2::bigint - 1) AS n
