-- Report versions that the parent acknowledged by name.
UPDATE reports AS t SET deliver_time = r.deliver_time
FROM unnest($rows::report_delivered_row[]) AS r
WHERE t.namespace = $1 AND t.handoff_id = r.handoff_id AND t.version <= r.version
    AND t.deliver_time IS NULL
RETURNING 1
