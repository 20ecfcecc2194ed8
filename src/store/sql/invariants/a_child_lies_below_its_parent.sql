-- A child lies one below its parent, under the same root and for the same person; a root lies under
-- nothing.
SELECT t.thread_id::text AS subject,
    CASE
        WHEN t.parent_thread_id IS NULL THEN 'it has no parent and is no root'
        WHEN p.thread_id IS NULL THEN 'its parent does not exist'
        ELSE format('depth %s under a parent of depth %s, or another root or owner than that has',
            t.depth, p.depth)
    END AS problem
FROM threads AS t
LEFT JOIN threads AS p ON p.namespace = t.namespace AND p.thread_id = t.parent_thread_id
WHERE t.namespace = $1 AND t.thread_id = ANY($2)
    AND (t.depth, t.root_thread_id, t.owner_subject, t.owner_email) IS DISTINCT FROM
        CASE WHEN t.parent_thread_id IS NULL
            THEN (0, t.thread_id, t.owner_subject, t.owner_email)
            ELSE (p.depth + 1, p.root_thread_id, p.owner_subject, p.owner_email)
        END
