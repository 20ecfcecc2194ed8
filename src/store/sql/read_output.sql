-- What a child said last, and how many turns of it began.
SELECT
    (SELECT e.content #>> '{content,response_text}' FROM thread_events AS e
        WHERE e.namespace = $1 AND e.thread_id = $2 AND e.number = $3) AS response,
    (SELECT count(*) FROM thread_events AS e
        WHERE e.namespace = $1 AND e.thread_id = $2 AND e.kind = 'turn_started') AS turns
