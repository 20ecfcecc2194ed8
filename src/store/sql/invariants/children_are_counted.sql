-- The counts on a parent's head are its unfinished handoffs, and those whose end it is told.
SELECT h.thread_id::text AS subject,
    format('%s unfinished handoffs, %s of them awaited; by the head %s and %s',
        own.live, own.awaited, h.live_children, h.awaited_children) AS problem
FROM thread_heads AS h
CROSS JOIN LATERAL (
    SELECT count(*) AS live, count(*) FILTER (WHERE c.on_completion <> 'none') AS awaited
    FROM handoffs AS c
    WHERE c.namespace = h.namespace AND c.parent_thread_id = h.thread_id AND c.finish_time IS NULL
) AS own
WHERE h.namespace = $1 AND h.thread_id = ANY($2)
    AND (h.live_children <> own.live OR h.awaited_children <> own.awaited)
