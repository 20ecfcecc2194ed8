-- The tenant, with its first agent.
INSERT INTO namespaces (namespace, create_time)
SELECT $1, min(r.create_time)
FROM unnest($rows::agent_row_2[]) AS r
ON CONFLICT (namespace) DO NOTHING
RETURNING 1
