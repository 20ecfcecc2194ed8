-- Promise 8: an effect that was left is due, or will be after the longest pause; and what it is done to
-- exists.
SELECT e.namespace, e.effect_id, e.kind, e.subject_id, e.due_time, e.attempts
FROM deferred_effects AS e
WHERE e.due_time > handoffd_now() + interval '10 minutes'
    OR e.kind = 'tell_sender' AND NOT EXISTS (
        SELECT FROM thread_heads AS h
        WHERE h.namespace = e.namespace AND h.thread_id = e.subject_id)
