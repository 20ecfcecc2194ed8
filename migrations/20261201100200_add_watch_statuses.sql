-- What a synchronous creation may leave: the watch closed and the work goes on. On its own: a value can be
-- used only after the migration that adds it.
ALTER TYPE handoff_status ADD VALUE 'watch_expired' AFTER 'running';
ALTER TYPE handoff_status ADD VALUE 'first_response' AFTER 'running';
