-- Now, and when the next lease is looked at.
SELECT (SELECT handoffd_now()), (
    SELECT t.check_time FROM turns AS t
    WHERE t.end_time IS NULL AND t.check_time > (SELECT handoffd_now())
    ORDER BY t.check_time LIMIT 1)
