-- The marks of a mailbox: done with, then given, then there.
SELECT h.namespace, h.thread_id, h.consumed_through, h.given_through, h.mail_number
FROM thread_heads AS h
WHERE NOT (0 <= h.consumed_through AND h.consumed_through <= h.given_through
        AND h.given_through <= h.mail_number)
    OR (h.turn_id IS NULL AND h.given_through <> h.consumed_through)
