-- Runtimes that began a new life. Found by address, which the lock holds in place.
-- The bounds are always true: with them the planner expects one row, and goes from it to the table
-- by the whole key even where it knows nothing of the table.
UPDATE runtimes AS t SET
    incarnation = r.incarnation, description = r.description, register_time = r.register_time,
    receive_time = r.receive_time
FROM (
    SELECT $1::text AS namespace, u.* FROM unnest($rows::runtime_row[]) AS u
    WHERE u.incarnation BETWEEN 1 AND 9223372036854775807
    OFFSET 0) AS r
WHERE t.ctid = r.address AND t.namespace = r.namespace
RETURNING 1
