-- How long the newest turns took that ended and had begun, in microseconds.
SELECT count(*), percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY s.span), max(s.span)
FROM (
    SELECT (extract(epoch FROM r.end_time - r.claim_time) * 1000000)::bigint AS span
    FROM (
        SELECT x.claim_time, x.end_time, x.outcome FROM turns AS x
        WHERE x.namespace = $1
        ORDER BY x.turn_id DESC LIMIT $2) AS r
    WHERE r.end_time IS NOT NULL AND r.outcome <> 'unclaimed') AS s
