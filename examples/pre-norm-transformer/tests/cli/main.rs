//! The program from the outside: what it refuses, and what its runs leave.

mod bench;
mod refusals;
mod runs;
