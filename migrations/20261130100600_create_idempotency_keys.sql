-- Request ids and idempotency keys, in one table so that a batch inserts all of its keys in one
-- sorted statement. A key binds only with the commit of the effect it names.
CREATE TABLE idempotency_keys (
    namespace   text        NOT NULL,
    key_hash    bytea       NOT NULL,
    fingerprint bytea       NOT NULL,
    handoff_id  uuid,
    answer      bytea,
    expire_time timestamptz NOT NULL,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (namespace, key_hash),
    CONSTRAINT idempotency_keys_key_hash_check CHECK (octet_length(key_hash) = 16),
    CONSTRAINT idempotency_keys_names_something_check CHECK (handoff_id IS NOT NULL OR answer IS NOT NULL)
);

COMMENT ON COLUMN idempotency_keys.answer IS 'The recorded answer of a request id.';
COMMENT ON COLUMN idempotency_keys.handoff_id IS 'The work an idempotency key names.';

CREATE INDEX idempotency_keys_expire_idx ON idempotency_keys USING brin (expire_time);
