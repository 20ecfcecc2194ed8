-- Promise 8: unfinished work with a time limit is looked at when the first of them passes: the end of an open
-- watch, its deadline, and before its first turn the bound of its agent. Without one it has no such time.
SELECT c.handoff_id::text AS subject,
    format('%s; its watch ends %s, it runs until %s, it waits until %s, and it is looked at %s', c.status,
        coalesce(c.watch_time::text, 'never'), coalesce(c.deadline_time::text, 'for ever'),
        coalesce(c.claim_deadline_time::text, 'for ever'), coalesce(c.due_time::text, 'never')) AS problem
FROM handoffs AS c
WHERE c.namespace = $1 AND c.handoff_id = ANY($2) AND c.finish_time IS NULL
    AND c.due_time IS DISTINCT FROM least(
        CASE WHEN c.status IN ('started', 'running') THEN c.watch_time END,
        c.deadline_time,
        CASE WHEN c.first_turn_time IS NULL THEN c.claim_deadline_time END)
