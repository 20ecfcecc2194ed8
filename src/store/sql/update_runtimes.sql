-- Runtimes that began a new life. Found by address, which the lock holds in place.
UPDATE runtimes AS t SET
    incarnation = r.incarnation, description = r.description, register_time = r.register_time,
    receive_time = r.receive_time
FROM unnest($rows::runtime_row[]) AS r
WHERE t.ctid = r.address AND t.namespace = $1
RETURNING 1
