-- Database time, the service row and the tenants.
--
-- Every decision takes its time from handoffd_now(), read after the locks it decides under. Tests
-- replace the function by one that reads a one-row table, so that all processes on a test database
-- share a moved time and production has no knob. The built-in clocks are not used anywhere else.
CREATE FUNCTION handoffd_now() RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL SAFE
    AS $$ SELECT clock_timestamp() $$;

COMMENT ON FUNCTION handoffd_now() IS 'The time every decision uses; replaced in tests.';

-- One row for the whole service. A server that finds no recent mark of life knows that all of them
-- were away, and gives running turns one more lease to come back.
CREATE TABLE service (
    only_row    boolean     NOT NULL DEFAULT true,
    last_alive  timestamptz NOT NULL,
    resume_time timestamptz NOT NULL,
    CONSTRAINT service_pkey PRIMARY KEY (only_row),
    CONSTRAINT service_only_row_check CHECK (only_row)
);

COMMENT ON COLUMN service.last_alive IS 'Real time of the newest mark of life of any server.';
COMMENT ON COLUMN service.resume_time IS 'When the service came back from its last outage; leases count from here at the earliest.';

INSERT INTO service (last_alive, resume_time) VALUES ('-infinity', '-infinity');

-- A tenant. The first PutAgent makes it.
CREATE TABLE namespaces (
    namespace   text        NOT NULL,
    create_time timestamptz NOT NULL,
    CONSTRAINT namespaces_pkey PRIMARY KEY (namespace),
    CONSTRAINT namespaces_namespace_check CHECK (namespace ~ '^[a-z0-9][a-z0-9._-]{0,62}$')
);
