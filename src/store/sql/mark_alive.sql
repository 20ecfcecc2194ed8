-- Real time on purpose: this is about servers, and a test that moves the clock kills none.
UPDATE service AS s SET
    last_alive = clock_timestamp(),
    resume_time = CASE
        WHEN s.last_alive < clock_timestamp() - interval '15 seconds' THEN handoffd_now()
        ELSE s.resume_time
    END
