-- What the database is, by its own clock on purpose: it is compared with the server's.
SELECT
    current_setting('server_version') AS database_version,
    clock_timestamp() AS database_time,
    (SELECT max(version) FROM _sqlx_migrations WHERE success) AS schema_version
