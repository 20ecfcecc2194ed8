-- Promise 8: what a transaction left to be done is done. An effect that could not be run three times is one
-- that the database refuses or no server can read: it is tried again and again, and needs somebody.
SELECT e.subject_id::text AS subject,
    format('effect %s (%s) could not be run, %s times so far', e.effect_id, e.kind, e.attempts) AS problem
FROM deferred_effects AS e
WHERE e.namespace = $1 AND e.subject_id = ANY($2) AND e.kind = 'tell_sender' AND e.attempts >= 3
