-- Effects of kinds that this server knows, earliest first, due or not: the first that is not yet due
-- tells when to look again. A look, without a lock.
SELECT e.namespace, e.effect_id, e.kind::text, e.subject_id, e.due_time, (SELECT handoffd_now())
FROM deferred_effects AS e
WHERE e.kind::text = ANY ($1) AND e.effect_id <> ALL ($2)
ORDER BY e.due_time
LIMIT $3
