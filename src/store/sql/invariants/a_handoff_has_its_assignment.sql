-- What a child is asked to do is there to be given to it.
SELECT c.handoff_id::text AS subject, 'its assignment is missing' AS problem
FROM handoffs AS c
LEFT JOIN assignments AS a ON a.namespace = c.namespace AND a.handoff_id = c.handoff_id
WHERE c.namespace = $1 AND c.handoff_id = ANY($2) AND a.handoff_id IS NULL
