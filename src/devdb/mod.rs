//! A private PostgreSQL for `dev` and for the tests; knows no other layer.
