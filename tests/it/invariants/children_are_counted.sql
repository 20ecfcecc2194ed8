-- The counts on a parent's head are its unfinished handoffs, and those whose end it is told.
SELECT h.namespace, h.thread_id, h.live_children, h.awaited_children, own.live, own.awaited
FROM thread_heads AS h
CROSS JOIN LATERAL (
    SELECT count(*) AS live, count(*) FILTER (WHERE c.on_completion = 'notify') AS awaited
    FROM handoffs AS c
    WHERE c.namespace = h.namespace AND c.parent_thread_id = h.thread_id AND c.finish_time IS NULL
) AS own
WHERE h.live_children <> own.live OR h.awaited_children <> own.awaited
