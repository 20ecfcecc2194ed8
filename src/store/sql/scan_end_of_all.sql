-- Where the bounded scan of all handoffs ended; none where it saw them all.
SELECT y.handoff_id FROM handoffs AS y
WHERE y.namespace = $1 AND y.handoff_id > $2
ORDER BY y.handoff_id OFFSET $3 - 1 LIMIT 1
