-- Every handoff but one that was refused has a child: a thread of its agent, below its parent.
SELECT c.handoff_id::text AS subject,
    CASE
        WHEN c.child_thread_id IS NULL THEN 'it has no child, and was not refused'
        WHEN t.thread_id IS NULL THEN 'its child does not exist'
        ELSE 'its child is of another agent or below another parent'
    END AS problem
FROM handoffs AS c
LEFT JOIN threads AS t ON t.namespace = c.namespace AND t.thread_id = c.child_thread_id
WHERE c.namespace = $1 AND c.handoff_id = ANY($2)
    AND CASE WHEN c.child_thread_id IS NULL THEN c.status <> 'materialize_failed'
        ELSE (t.agent_id, t.parent_thread_id) IS DISTINCT FROM (c.agent_id, c.parent_thread_id)
    END
