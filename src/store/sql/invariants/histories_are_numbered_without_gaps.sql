-- A history begins at 1, has no gaps, ends at the number of its head, and its times never run back.
SELECT h.thread_id::text AS subject,
    CASE WHEN own.back THEN 'the times of its history run back'
        ELSE format('%s entries from %s to %s; by the head %s',
            own.count, own.min, own.max, h.event_number)
    END AS problem
FROM thread_heads AS h
CROSS JOIN LATERAL (
    SELECT count(*), coalesce(max(e.number), 0) AS max, coalesce(min(e.number), 1) AS min,
        coalesce(bool_or(e.time < e.before), false) AS back
    FROM (
        SELECT number, time, lag(time) OVER (ORDER BY number) AS before
        FROM thread_events
        WHERE namespace = h.namespace AND thread_id = h.thread_id
    ) AS e
) AS own
WHERE h.namespace = $1 AND h.thread_id = ANY($2)
    AND (h.event_number <> own.count OR h.event_number <> own.max OR own.min <> 1 OR own.back)
