//! The product's rules as plain data and pure functions: no async, no SQL, no clock, no randomness.
