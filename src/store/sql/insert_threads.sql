-- New threads.
INSERT INTO threads (
    namespace, thread_id, agent_id, parent_thread_id, root_thread_id, depth, role, drive,
    title, hidden, listed, owner_subject, owner_email, create_time)
SELECT
    $1, r.thread_id, r.agent_id, r.parent_thread_id, r.root_thread_id, r.depth, r.role,
    r.drive::thread_drive, r.title, r.hidden, r.listed, r.owner_subject, r.owner_email,
    r.create_time
FROM unnest($rows::thread_row[]) AS r
RETURNING 1
