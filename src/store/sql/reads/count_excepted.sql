-- Mail above a number that left its normal life.
SELECT count(*) FROM messages AS m
WHERE m.namespace = $1 AND m.to_thread_id = $2 AND m.mail_number > $3 AND m.exception IS NOT NULL
