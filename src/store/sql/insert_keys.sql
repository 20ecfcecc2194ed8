-- Keys; a server that used one first makes the count differ.
INSERT INTO idempotency_keys (
    namespace, key_hash, fingerprint, handoff_id, answer, expire_time)
SELECT
    $1, r.key_hash, r.fingerprint, r.handoff_id, r.answer, r.expire_time
FROM unnest($rows::key_row[]) AS r
ORDER BY r.key_hash
ON CONFLICT (namespace, key_hash) DO NOTHING
RETURNING 1
