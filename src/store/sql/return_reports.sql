-- Reports whose reader was lost: they are mail again, under a new number.
-- The bounds are always true: with them the planner expects one row, and goes from it to the table
-- by the whole key even where it knows nothing of the table.
UPDATE reports AS t SET mail_number = r.mail_number, reader_turn_id = NULL
FROM (
    SELECT $1::text AS namespace, u.* FROM unnest($rows::report_returned_row[]) AS u
    WHERE u.version BETWEEN 1 AND 9223372036854775807
    OFFSET 0) AS r
WHERE t.namespace = r.namespace AND t.handoff_id = r.handoff_id AND t.version = r.version
RETURNING 1
