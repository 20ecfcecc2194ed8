-- Effects that are left for another transaction.
INSERT INTO deferred_effects (
    namespace, effect_id, kind, subject_id, facts, due_time, attempts)
SELECT
    $1, r.effect_id, r.kind::effect_kind, r.subject_id, r.facts, r.due_time, r.attempts
FROM unnest($rows::effect_row[]) AS r
RETURNING 1
