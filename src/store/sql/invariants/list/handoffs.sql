SELECT handoff_id::text FROM handoffs
WHERE namespace = $1 AND handoff_id > coalesce($2::text, '00000000-0000-0000-0000-000000000000')::uuid
ORDER BY handoff_id LIMIT $3
