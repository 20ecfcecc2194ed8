-- What a child is asked to do is there to be given to it.
SELECT c.handoff_id::text AS subject, 'its assignment is missing' AS problem
FROM unnest($2::uuid[]) AS looked (id)
CROSS JOIN LATERAL (
    SELECT x.handoff_id FROM handoffs AS x
    WHERE x.namespace = $1 AND x.handoff_id = looked.id LIMIT 1) AS c
LEFT JOIN LATERAL (
    SELECT x.handoff_id FROM assignments AS x
    WHERE x.namespace = $1 AND x.handoff_id = looked.id LIMIT 1) AS a ON true
WHERE a.handoff_id IS NULL
