-- A deadline has a version, and a time at which it passes from the first turn on, and not before.
SELECT c.handoff_id::text AS subject,
    format('deadline %s, version %s, passes %s; its first turn began %s',
        coalesce(c.deadline::text, 'none'), c.deadline_version,
        coalesce(c.deadline_time::text, 'never'), coalesce(c.first_turn_time::text, 'never')) AS problem
FROM handoffs AS c
WHERE c.namespace = $1 AND c.handoff_id = ANY($2)
    AND ((c.deadline IS NULL) <> (c.deadline_version = 0)
        OR (c.deadline_time IS NOT NULL) <> (c.deadline IS NOT NULL AND c.first_turn_time IS NOT NULL))
