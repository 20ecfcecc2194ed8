//! The promises of the product, each at every moment it could break.

mod run;
mod told;
mod wake;
