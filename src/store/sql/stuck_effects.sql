-- Deferred effects that could not be run so far. Normally there are none, put off or not.
SELECT s.effect_id, s.kind::text, s.subject_id, s.attempts, s.due_time
FROM (
    SELECT x.* FROM deferred_effects AS x
    WHERE x.namespace = $1
    ORDER BY x.effect_id LIMIT 10000) AS s
WHERE s.attempts > 0
ORDER BY s.effect_id LIMIT $2
