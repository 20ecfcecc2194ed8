-- What never changes of threads, and who handed them their first work.
SELECT t.thread_id, t.parent_thread_id, t.depth, t.agent_id, t.role, t.title, e.actor_kind
FROM unnest($2::uuid[]) WITH ORDINALITY AS asked (thread_id, place)
CROSS JOIN LATERAL (
    SELECT x.* FROM threads AS x
    WHERE x.namespace = $1 AND x.thread_id = asked.thread_id LIMIT 1) AS t
LEFT JOIN LATERAL (
    SELECT x.handoff_id FROM handoffs AS x
    WHERE x.namespace = $1 AND x.child_thread_id = asked.thread_id
    ORDER BY x.attempt LIMIT 1) AS h ON true
LEFT JOIN LATERAL (
    SELECT x.actor_kind FROM handoff_events AS x
    WHERE x.namespace = $1 AND x.handoff_id = h.handoff_id AND x.number = 1 LIMIT 1) AS e ON true
ORDER BY asked.place
