        LIMIT $4) AS x) AS z
    -- The last row of a scan that was cut tells where the next one begins.
    WHERE z.matches OR z.seen = $4
    LIMIT $5)
