-- The parent collects the end. On its own: a value can be used only after the migration that adds it.
ALTER TYPE on_completion ADD VALUE 'return' BEFORE 'none';
