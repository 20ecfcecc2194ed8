-- What is due over all tenants, up to a number of rows, and how far each job of the reconciler is behind,
-- in seconds. Each from one index.
SELECT
    (SELECT count(*) FROM (
        SELECT 1 FROM thread_heads AS x
        WHERE x.wake_time IS NOT NULL AND x.wake_time <= c.now
        ORDER BY x.namespace, x.agent_id, x.wake_time LIMIT $1) AS s) AS due_turns,
    (SELECT count(*) FROM (
        SELECT 1 FROM turns AS x
        WHERE x.end_time IS NULL
        ORDER BY x.namespace, x.thread_id LIMIT $1) AS s) AS live_turns,
    (SELECT count(*) FROM (SELECT 1 FROM deferred_effects AS x ORDER BY x.due_time LIMIT $1) AS s) AS effects,
    (SELECT extract(epoch FROM c.now - min(x.check_time))::float8 FROM turns AS x
        WHERE x.end_time IS NULL) AS leases_lag,
    (SELECT extract(epoch FROM c.now - min(x.due_time))::float8 FROM thread_heads AS x
        WHERE x.due_time IS NOT NULL) AS quiet_lag,
    (SELECT extract(epoch FROM c.now - min(x.due_time))::float8 FROM deferred_effects AS x) AS effects_lag
FROM (SELECT handoffd_now() AS now) AS c
