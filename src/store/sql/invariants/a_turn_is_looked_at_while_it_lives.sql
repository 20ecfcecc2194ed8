-- Promise 8: the lease of a live turn has a time at which it is looked at; an ended turn has none.
SELECT t.turn_id::text AS subject,
    CASE WHEN t.end_time IS NULL THEN 'it lives, and nobody looks at its lease'
        ELSE 'it has ended, and its lease is looked at'
    END AS problem
FROM turns AS t
WHERE t.namespace = $1 AND t.turn_id = ANY($2)
    AND ((t.end_time IS NULL) <> (t.check_time IS NOT NULL)
        OR (t.end_time IS NULL) <> (t.state <> 'ended') OR (t.end_time IS NULL) <> (t.outcome IS NULL))
