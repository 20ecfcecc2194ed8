-- Mail that leaves its normal life: consumed out of order, set aside, withdrawn.
UPDATE messages AS m SET exception = r.exception::message_exception
FROM unnest($rows::mail_except_row[]) AS r
WHERE m.namespace = $1 AND m.to_thread_id = r.thread_id
    AND m.mail_number > r.above AND m.mail_number <= r.through
    AND m.exception IS NULL
RETURNING 1
