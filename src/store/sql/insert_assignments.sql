-- What new work is.
INSERT INTO assignments (
    namespace, handoff_id, task, context_data)
SELECT
    $1, r.handoff_id, r.task, r.context_data
FROM unnest($rows::assignment_row[]) AS r
RETURNING 1
