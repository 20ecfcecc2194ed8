-- Who has had a transaction open for longer than $1 and holds back the database's cleaning by it,
-- oldest first. Real time on purpose: it is about sessions.
SELECT
    a.pid AS process_id,
    coalesce(a.application_name, '') AS application,
    a.state LIKE 'idle in transaction%' AS idle,
    (extract(epoch FROM clock_timestamp() - a.xact_start) * 1000)::bigint AS milliseconds
FROM pg_stat_activity AS a
WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
    AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
    AND a.xact_start <= clock_timestamp() - $1::bigint * interval '1 millisecond'
ORDER BY a.xact_start
LIMIT $2
