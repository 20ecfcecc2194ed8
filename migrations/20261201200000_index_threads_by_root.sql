-- no-transaction
-- Lists go through a tree of threads without reading the rest of the tenant. On `threads`, whose rows
-- hardly ever change, so that a new thread pays for it once; on `handoffs` each end would pay again.
-- Partial, although no root is ever missing: a statement that does not name the root must not be
-- planned by this index, which a planner that knows nothing of the table would take as the newest.
CREATE INDEX CONCURRENTLY threads_root_idx ON threads (namespace, root_thread_id, thread_id)
    WHERE root_thread_id IS NOT NULL;
