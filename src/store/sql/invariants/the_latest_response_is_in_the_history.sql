-- The latest response of a thread is the text of a turn's end in its history.
SELECT h.thread_id::text AS subject,
    format('entry %s of its history is no response', h.response_number) AS problem
FROM thread_heads AS h
LEFT JOIN thread_events AS e
    ON e.namespace = h.namespace AND e.thread_id = h.thread_id AND e.number = h.response_number
WHERE h.namespace = $1 AND h.thread_id = ANY($2) AND h.response_number IS NOT NULL
    AND (e.kind IS DISTINCT FROM 'turn_ended' OR e.content #>> '{content,response_text}' IS NULL)
