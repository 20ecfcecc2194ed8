-- Effects that could not be run. Their subjects are locked, so each is there and nobody else's.
-- The bounds are always true: with them the planner expects one row, and goes from it to the table
-- by the whole key even where it knows nothing of the table.
UPDATE deferred_effects AS t SET due_time = r.due_time, attempts = t.attempts + 1
FROM (
    SELECT $1::text AS namespace, u.* FROM unnest($rows::effect_put_off_row[]) AS u
    WHERE u.effect_id BETWEEN '00000000-0000-0000-0000-000000000000' AND 'ffffffff-ffff-ffff-ffff-ffffffffffff'
    OFFSET 0) AS r
WHERE t.namespace = r.namespace AND t.effect_id = r.effect_id
RETURNING 1
