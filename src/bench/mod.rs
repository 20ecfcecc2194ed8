//! `handoffd bench`: drives any server from its own process, beside the database's own floor.
