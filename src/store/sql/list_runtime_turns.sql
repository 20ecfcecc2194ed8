-- Live turns of one life of a runtime. A drain is rare and live turns are few, so this walks the
-- index of live turns and needs none of its own, which every claim and finish would pay for.
SELECT t.turn_id, t.token
FROM turns AS t
WHERE t.namespace = $1 AND t.end_time IS NULL AND t.runtime_id = $2 AND t.incarnation = $3
ORDER BY t.turn_id
LIMIT $4
