-- Now, and when the next thread is looked at.
SELECT (SELECT handoffd_now()), (
    SELECT h.due_time FROM thread_heads AS h
    WHERE h.due_time > (SELECT handoffd_now())
    ORDER BY h.due_time LIMIT 1)
