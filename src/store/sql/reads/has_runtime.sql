-- Whether there is one.
SELECT 1 FROM runtimes WHERE namespace = $1 AND runtime_id = $2
