-- Where turns were lost in a row it is known what the least of them was given, and only there.
SELECT h.thread_id::text AS subject,
    format('%s lost turns, given through %s', h.lost_turns,
        coalesce(h.lost_given_through::text, 'nobody knows what')) AS problem
FROM thread_heads AS h
WHERE h.namespace = $1 AND h.thread_id = ANY($2)
    AND ((h.lost_turns = 0) <> (h.lost_given_through IS NULL) OR h.lost_given_through > h.mail_number)
