-- Effects that are done. Their subjects are locked, so each is there and nobody else's.
-- The bounds are always true: with them the planner expects one row, and goes from it to the table
-- by the whole key even where it knows nothing of the table.
DELETE FROM deferred_effects AS t
USING (
    SELECT $1::text AS namespace, u.id FROM unnest($rows::uuid[]) AS u (id)
    WHERE u.id BETWEEN '00000000-0000-0000-0000-000000000000' AND 'ffffffff-ffff-ffff-ffff-ffffffffffff'
    OFFSET 0) AS r
WHERE t.namespace = r.namespace AND t.effect_id = r.id
RETURNING 1
