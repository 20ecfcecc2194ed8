-- Operators are shown mail that was set aside after its turns were lost. It is rare, so the index is
-- nearly empty, and no other mail is in it.
CREATE INDEX messages_set_aside_idx ON messages (namespace, to_thread_id, mail_number)
    WHERE exception = 'set_aside';
