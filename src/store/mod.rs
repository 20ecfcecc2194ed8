//! The only SQL: one file per table family, and the three statements a batch is made of.
