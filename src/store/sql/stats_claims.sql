-- How long the newest handoffs waited for their first turn, in microseconds.
SELECT count(*), percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY s.span), max(s.span)
FROM (
    SELECT (extract(epoch FROM r.first_turn_time - r.create_time) * 1000000)::bigint AS span
    FROM (
        SELECT x.create_time, x.first_turn_time FROM handoffs AS x
        WHERE x.namespace = $1
        ORDER BY x.handoff_id DESC LIMIT $2) AS r
    WHERE r.first_turn_time IS NOT NULL) AS s
