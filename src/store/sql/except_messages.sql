-- Mail that leaves its normal life: consumed out of order, set aside, withdrawn.
-- The bounds are always true: with them the planner expects one row, and goes from it to the table
-- by the whole key even where it knows nothing of the table.
UPDATE messages AS m SET exception = r.exception::message_exception
FROM (
    SELECT $1::text AS namespace, u.* FROM unnest($rows::mail_except_row[]) AS u
    WHERE u.through BETWEEN 1 AND 9223372036854775807
    OFFSET 0) AS r
WHERE m.namespace = r.namespace AND m.to_thread_id = r.thread_id
    AND m.mail_number > r.above AND m.mail_number <= r.through
    AND m.exception IS NULL
RETURNING 1
