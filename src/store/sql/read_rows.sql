-- R: what a batch reads under the locks of L and does not lock itself. A statement of its own, so
-- that its snapshot is younger than every lock; every part is one index descent for each id asked.
-- A batch sends only the parts it asks something of: to start one that finds nothing costs as much as
-- to find a row.
SELECT
    -- part agents, else: '{}'::agent_row_2[] AS agents, '{}'::slots_row[] AS agent_slots,
    (SELECT coalesce(array_agg(ROW(
            a.agent_id, a.display_name, a.description, a.accepts_handoffs, a.on_turn_lost,
            a.default_deadline, a.claim_deadline, a.create_time, a.update_time)::agent_row_2), '{}')
        FROM unnest($2::text[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.* FROM agents AS t
            WHERE t.namespace = $1 AND t.agent_id = wanted.id LIMIT 1) AS a) AS agents,
    (SELECT coalesce(array_agg(ROW(
            NULL::tid, s.version, s.agent_id, s.state::text, s.max_turns, s.live_turns)::slots_row), '{}')
        FROM unnest($2::text[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.* FROM agent_slots AS t
            WHERE t.namespace = $1 AND t.agent_id = wanted.id LIMIT 1) AS s) AS agent_slots,
    -- part names, else: '{}'::agent_row_2[] AS named_agents, '{}'::slots_row[] AS named_slots,
    -- Agents by a display name, which a few of them may share.
    (SELECT coalesce(array_agg(ROW(
            a.agent_id, a.display_name, a.description, a.accepts_handoffs, a.on_turn_lost,
            a.default_deadline, a.claim_deadline, a.create_time, a.update_time)::agent_row_2), '{}')
        FROM unnest($20::text[]) AS wanted (name)
        CROSS JOIN LATERAL (
            SELECT t.* FROM agents AS t
            WHERE t.namespace = $1 AND lower(t.display_name) = lower(wanted.name)
            LIMIT 10) AS a) AS named_agents,
    (SELECT coalesce(array_agg(ROW(
            NULL::tid, s.version, s.agent_id, s.state::text, s.max_turns, s.live_turns)::slots_row), '{}')
        FROM unnest($20::text[]) AS wanted (name)
        CROSS JOIN LATERAL (
            SELECT t.* FROM agents AS a
            JOIN agent_slots AS t ON t.namespace = $1 AND t.agent_id = a.agent_id
            WHERE a.namespace = $1 AND lower(a.display_name) = lower(wanted.name)
            LIMIT 10) AS s) AS named_slots,
    -- part threads, else: '{}'::thread_row[] AS threads,
    (SELECT coalesce(array_agg(ROW(
            t.thread_id, t.agent_id, t.parent_thread_id, t.root_thread_id, t.depth, t.role,
            t.drive::text, t.title, t.hidden, t.listed, t.owner_subject, t.owner_email,
            t.create_time)::thread_row), '{}')
        FROM unnest($3::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.* FROM threads AS t
            WHERE t.namespace = $1 AND t.thread_id = wanted.id LIMIT 1) AS t) AS threads,
    -- part pairs, else: '{}'::pair_row[] AS pairs,
    -- The exact rolling window of each pair; more than 1,000 in it is as good as full.
    (SELECT coalesce(array_agg(ROW(wanted.to_id, wanted.from_id, w.count, w.oldest)::pair_row), '{}')
        FROM unnest($4::uuid[], $5::uuid[]) AS wanted (to_id, from_id)
        CROSS JOIN LATERAL (
            SELECT count(*) AS count, min(m.create_time) AS oldest
            FROM (SELECT m.create_time FROM messages AS m
                WHERE m.namespace = $1 AND m.to_thread_id = wanted.to_id
                    AND m.from_thread_id = wanted.from_id AND m.rated AND m.create_time > $6
                ORDER BY m.create_time DESC LIMIT 1000) AS m) AS w) AS pairs,
    -- part mail, else: '{}'::message_row[] AS mail,
    -- Mail that may be read, in number order within each thread, bounded by count and by bytes: up to
    -- the message that reaches the bound. Bodies stay where they are until that is known.
    (SELECT coalesce(array_agg(ROW(
            m.to_thread_id, m.mail_number, m.message_id, m.from_thread_id, m.from_agent_id,
            m.handoff_id, m.kind::text, m.subject, m.body, m.data, m.artifacts, m.bytes, m.outcome,
            m.in_reply_to, m.report_version, m.quiet, m.wakes, m.rated, m.late,
            m.exception::text, m.create_time)::message_row
            ORDER BY m.to_thread_id, m.mail_number), '{}')
        FROM (
            SELECT t.*, wanted.bytes AS most, sum(t.bytes) OVER (
                PARTITION BY t.to_thread_id ORDER BY t.mail_number
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
            FROM unnest($7::uuid[], $8::bigint[], $9::bigint[], $19::bigint[])
                AS wanted (id, above, count, bytes)
            CROSS JOIN LATERAL (
                SELECT t.* FROM messages AS t
                WHERE t.namespace = $1 AND t.to_thread_id = wanted.id
                    AND t.mail_number > wanted.above AND t.exception IS NULL
                ORDER BY t.mail_number LIMIT wanted.count) AS t) AS m
        WHERE m.before IS NULL OR m.before < m.most) AS mail,
    -- part waking, else: '{}'::thread_number_row[] AS waking,
    -- Unread mail that must wake, by number: marks move over it in memory.
    (SELECT coalesce(array_agg(ROW(wanted.id, m.mail_number)::thread_number_row), '{}')
        FROM unnest($10::uuid[], $11::bigint[]) AS wanted (id, above)
        CROSS JOIN LATERAL (
            SELECT t.mail_number FROM messages AS t
            WHERE t.namespace = $1 AND t.to_thread_id = wanted.id
                AND t.mail_number > wanted.above AND t.exception IS NULL AND t.wakes
            ORDER BY t.mail_number LIMIT 20000) AS m) AS waking,
    -- part envelopes, else: '{}'::envelope_row[] AS envelopes,
    -- Unread mail of other threads, without what it says.
    (SELECT coalesce(array_agg(ROW(
            wanted.id, m.from_thread_id, m.mail_number, m.message_id, m.kind::text, m.subject,
            m.report_version)::envelope_row
            ORDER BY wanted.id, m.mail_number), '{}')
        FROM unnest($16::uuid[], $17::bigint[]) AS wanted (id, above)
        CROSS JOIN LATERAL (
            SELECT t.* FROM messages AS t
            WHERE t.namespace = $1 AND t.to_thread_id = wanted.id
                AND t.mail_number > wanted.above AND t.exception IS NULL
                AND t.from_thread_id IS NOT NULL
            ORDER BY t.mail_number LIMIT 20000) AS m) AS envelopes,
    -- part open_children, else: '{}'::handoff_row_4[] AS open_children,
    -- Unfinished handoffs of a thread, oldest first.
    (SELECT coalesce(array_agg(ROW(
            NULL::tid, c.version, c.handoff_id, c.parent_thread_id, c.child_thread_id,
            c.agent_id, c.title, c.attempt, c.on_completion::text, c.on_turn_lost::text,
            c.status::text, c.outcome::text, c.outcome_stated, c.error, c.report_version,
            c.result_version, c.progress_mail_number, c.event_number, c.reminders_sent,
            c.reminder_time, c.reminder_mail_number, c.stop_turn_id, c.idempotency_key,
            c.create_time, c.first_turn_time, c.finish_time, c.close_time, c.update_time, c.due_time, c.watch_time,
            c.watch_turn_id, c.deadline, c.deadline_time, c.deadline_version,
            c.claim_deadline_time)::handoff_row_4 ORDER BY c.handoff_id), '{}')
        FROM unnest($12::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.* FROM handoffs AS t
            WHERE t.namespace = $1 AND t.parent_thread_id = wanted.id AND t.finish_time IS NULL
            ORDER BY t.handoff_id LIMIT 100) AS c) AS open_children,
    -- part reports, else: '{}'::mailed_report_row[] AS mailed_reports,
    (SELECT coalesce(array_agg(ROW(r.handoff_id, r.version, r.mail_number)::mailed_report_row), '{}')
        FROM unnest($13::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.handoff_id, t.version, t.mail_number FROM reports AS t
            WHERE t.namespace = $1 AND t.handoff_id = wanted.id
            ORDER BY t.version DESC LIMIT 1000) AS r) AS mailed_reports,
    -- part read_reports, else: '{}'::read_report_row[] AS read_reports,
    -- The mail of reports that a turn read by the answers of its own calls and has not acknowledged.
    (SELECT coalesce(array_agg(ROW(wanted.id, ROW(
            m.to_thread_id, m.mail_number, m.message_id, m.from_thread_id, m.from_agent_id,
            m.handoff_id, m.kind::text, m.subject, m.body, m.data, m.artifacts, m.bytes, m.outcome,
            m.in_reply_to, m.report_version, m.quiet, m.wakes, m.rated, m.late,
            m.exception::text, m.create_time)::message_row)::read_report_row ORDER BY m.mail_number), '{}')
        FROM unnest($23::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT x.thread_id FROM turns AS x
            WHERE x.namespace = $1 AND x.turn_id = wanted.id LIMIT 1) AS t
        CROSS JOIN LATERAL (
            SELECT x.mail_number FROM reports AS x
            WHERE x.namespace = $1 AND x.reader_turn_id = wanted.id AND x.deliver_time IS NULL
            LIMIT 1000) AS r
        CROSS JOIN LATERAL (
            SELECT x.* FROM messages AS x
            WHERE x.namespace = $1 AND x.to_thread_id = t.thread_id
                AND x.mail_number = r.mail_number LIMIT 1) AS m) AS read_reports,
    -- part work, else: '{}'::work_row[] AS work,
    -- What a claim hands over with a turn, oldest first, as far as it is read at once: what is left out
    -- comes without its task. JSON that may be compressed counts with the most it may be.
    -- The parent's agent comes from its head: an index of threads holds it too, and looks cheap to walk
    -- where tenants are small on average.
    (SELECT coalesce(array_agg(ROW(
            w.handoff_id, w.attempt, w.on_completion::text,
            CASE WHEN w.before IS NULL OR w.before < $21::bigint THEN w.task END,
            CASE WHEN w.before IS NULL OR w.before < $21::bigint THEN w.context_data END,
            w.parent_agent_id)::work_row), '{}')
        FROM (
            SELECT w.*, sum(w.bytes) OVER (
                ORDER BY w.handoff_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
            FROM unnest($14::uuid[]) AS wanted (id)
            CROSS JOIN LATERAL (
                SELECT h.handoff_id, h.attempt, h.on_completion, a.task, a.context_data,
                    p.agent_id AS parent_agent_id,
                    octet_length(a.task)
                        + CASE WHEN a.context_data IS NULL THEN 0
                            WHEN pg_column_size(a.context_data) < 1024 THEN 1024
                            ELSE $22::bigint END AS bytes
                FROM handoffs AS h
                JOIN assignments AS a ON a.namespace = $1 AND a.handoff_id = wanted.id
                LEFT JOIN LATERAL (
                    SELECT t.agent_id FROM thread_heads AS t
                    WHERE t.namespace = $1 AND t.thread_id = h.parent_thread_id LIMIT 1) AS p ON true
                WHERE h.namespace = $1 AND h.handoff_id = wanted.id LIMIT 1) AS w) AS w) AS work,
    -- part effects, else: '{}'::effect_row[] AS effects,
    -- Effects that are still to come; who asks for one holds the lock of its subject.
    (SELECT coalesce(array_agg(ROW(
            e.effect_id, e.kind::text, e.subject_id, e.facts, e.due_time, e.attempts)::effect_row), '{}')
        FROM unnest($18::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.* FROM deferred_effects AS t
            WHERE t.namespace = $1 AND t.effect_id = wanted.id LIMIT 1) AS e) AS effects,
    -- part named, else: '{}'::handoff_row_4[] AS named
    -- The work that keys name, as it is now.
    (SELECT coalesce(array_agg(ROW(
            NULL::tid, h.version, h.handoff_id, h.parent_thread_id, h.child_thread_id,
            h.agent_id, h.title, h.attempt, h.on_completion::text, h.on_turn_lost::text,
            h.status::text, h.outcome::text, h.outcome_stated, h.error, h.report_version,
            h.result_version, h.progress_mail_number, h.event_number, h.reminders_sent,
            h.reminder_time, h.reminder_mail_number, h.stop_turn_id, h.idempotency_key,
            h.create_time, h.first_turn_time, h.finish_time, h.close_time, h.update_time, h.due_time, h.watch_time,
            h.watch_turn_id, h.deadline, h.deadline_time, h.deadline_version,
            h.claim_deadline_time)::handoff_row_4), '{}')
        FROM unnest($15::uuid[]) AS wanted (id)
        CROSS JOIN LATERAL (
            SELECT t.* FROM handoffs AS t
            WHERE t.namespace = $1 AND t.handoff_id = wanted.id LIMIT 1) AS h) AS named
