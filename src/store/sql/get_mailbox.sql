-- Where a mailbox stands, and the time at which that was read.
SELECT h.agent_id, h.mail_number, h.given_through, h.consumed_through, handoffd_now() AS now
FROM thread_heads AS h
WHERE h.namespace = $1 AND h.thread_id = $2
