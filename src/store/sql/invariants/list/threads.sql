SELECT found.id::text FROM (
    (SELECT thread_id AS id FROM threads
        WHERE namespace = $1 AND thread_id > coalesce($2::text, '00000000-0000-0000-0000-000000000000')::uuid
        ORDER BY 1 LIMIT $3)
    UNION
    (SELECT thread_id FROM thread_heads
        WHERE namespace = $1 AND thread_id > coalesce($2, '00000000-0000-0000-0000-000000000000')::uuid
        ORDER BY 1 LIMIT $3)
    UNION
    (SELECT subject_id FROM deferred_effects
        WHERE namespace = $1 AND subject_id > coalesce($2, '00000000-0000-0000-0000-000000000000')::uuid
            AND kind = 'tell_sender'
        ORDER BY 1 LIMIT $3)
) AS found
ORDER BY found.id LIMIT $3
