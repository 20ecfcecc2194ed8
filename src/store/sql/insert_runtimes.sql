-- Runtimes in their first life; another server may have been first.
INSERT INTO runtimes (
    namespace, runtime_id, incarnation, description, register_time, receive_time)
SELECT
    $1, r.runtime_id, r.incarnation, r.description, r.register_time, r.receive_time
FROM unnest($rows::runtime_row[]) AS r
ON CONFLICT (namespace, runtime_id) DO NOTHING
RETURNING 1
