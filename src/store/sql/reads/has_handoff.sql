-- Whether there is one.
SELECT 1 FROM handoffs WHERE namespace = $1 AND handoff_id = $2
