-- Children of some threads, those of each behind one of them, in the order of the threads.
SELECT asked.place, t.thread_id
FROM unnest($2::uuid[], $3::uuid[]) WITH ORDINALITY AS asked (parent_thread_id, after, place)
CROSS JOIN LATERAL (
    SELECT x.thread_id FROM threads AS x
    WHERE x.namespace = $1 AND x.parent_thread_id = asked.parent_thread_id AND x.thread_id > asked.after
    ORDER BY x.thread_id LIMIT $4) AS t
ORDER BY asked.place, t.thread_id
LIMIT $4
