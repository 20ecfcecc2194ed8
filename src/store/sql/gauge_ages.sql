-- Ages in seconds over all tenants: one descent of an index for each tenant, or for each active agent.
SELECT
    (SELECT extract(epoch FROM handoffd_now() - min(o.create_time))::float8
        FROM (SELECT x.namespace FROM namespaces AS x ORDER BY x.namespace LIMIT $1) AS n
        CROSS JOIN LATERAL (
            SELECT x.create_time FROM handoffs AS x
            WHERE x.namespace = n.namespace AND x.close_time IS NULL
            ORDER BY x.handoff_id LIMIT 1) AS o) AS oldest_open,
    (SELECT extract(epoch FROM handoffd_now() - min(w.wake_time))::float8
        FROM (
            SELECT x.namespace, x.agent_id FROM agent_slots AS x
            WHERE x.state = 'active'
            ORDER BY x.namespace, x.agent_id LIMIT $1) AS a
        CROSS JOIN LATERAL (
            SELECT x.wake_time FROM thread_heads AS x
            WHERE x.namespace = a.namespace AND x.agent_id = a.agent_id AND x.wake_time IS NOT NULL
            ORDER BY x.wake_time LIMIT 1) AS w
        WHERE w.wake_time <= handoffd_now()) AS oldest_wake
