-- A turn is of its thread's agent, works on a handoff of that thread or on none, and is held by a
-- runtime in a life that was registered.
SELECT t.turn_id::text AS subject,
    CASE
        WHEN h.agent_id IS DISTINCT FROM t.agent_id THEN 'its thread is of another agent, or missing'
        WHEN t.handoff_id IS NOT NULL AND c.child_thread_id IS DISTINCT FROM t.thread_id
            THEN 'its handoff is of another thread, or missing'
        ELSE 'it lives, and its runtime was never registered so'
    END AS problem
FROM turns AS t
LEFT JOIN thread_heads AS h ON h.namespace = t.namespace AND h.thread_id = t.thread_id
LEFT JOIN handoffs AS c ON c.namespace = t.namespace AND c.handoff_id = t.handoff_id
LEFT JOIN runtimes AS r ON r.namespace = t.namespace AND r.runtime_id = t.runtime_id
WHERE t.namespace = $1 AND t.turn_id = ANY($2)
    AND (h.agent_id IS DISTINCT FROM t.agent_id
        OR (t.handoff_id IS NOT NULL AND c.child_thread_id IS DISTINCT FROM t.thread_id)
        OR (t.end_time IS NULL AND t.incarnation > coalesce(r.incarnation, 0)))
