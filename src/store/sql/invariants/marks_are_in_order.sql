-- The marks of a mailbox: done with, then given, then there. Without a live turn nothing is given.
SELECT h.thread_id::text AS subject,
    format('consumed through %s, given through %s, of %s messages, %s a live turn',
        h.consumed_through, h.given_through, h.mail_number,
        CASE WHEN h.turn_id IS NULL THEN 'without' ELSE 'with' END) AS problem
FROM thread_heads AS h
WHERE h.namespace = $1 AND h.thread_id = ANY($2)
    AND (NOT (0 <= h.consumed_through AND h.consumed_through <= h.given_through
            AND h.given_through <= h.mail_number)
        OR (h.turn_id IS NULL AND h.given_through <> h.consumed_through))
