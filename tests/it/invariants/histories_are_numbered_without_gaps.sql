-- A history begins at 1, has no gaps, ends at the number of its head, and its times never run back.
SELECT h.namespace, h.thread_id, h.event_number, own.count, own.max
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
WHERE h.event_number <> own.count OR h.event_number <> own.max OR own.min <> 1 OR own.back
