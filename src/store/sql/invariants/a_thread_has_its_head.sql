-- Every thread has a head and every head a thread, and both say the same of what they are.
SELECT looked.id::text AS subject,
    CASE
        WHEN t.thread_id IS NULL THEN 'there is a head and no thread'
        WHEN h.thread_id IS NULL THEN 'it has no head'
        ELSE 'its head names another agent, parent or drive'
    END AS problem
FROM unnest($2::uuid[]) AS looked (id)
LEFT JOIN threads AS t ON t.namespace = $1 AND t.thread_id = looked.id
LEFT JOIN thread_heads AS h ON h.namespace = $1 AND h.thread_id = looked.id
WHERE t.thread_id IS NULL OR h.thread_id IS NULL
    OR (t.agent_id, t.parent_thread_id, t.drive)
        IS DISTINCT FROM (h.agent_id, h.parent_thread_id, h.drive)
