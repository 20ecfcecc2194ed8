SELECT turn_id::text FROM turns
WHERE namespace = $1 AND turn_id > coalesce($2::text, '00000000-0000-0000-0000-000000000000')::uuid
ORDER BY turn_id LIMIT $3
