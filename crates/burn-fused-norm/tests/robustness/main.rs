//! What users of such layers have met, and what a user can do wrong: a file for each, on every device of
//! `NORM_DEVICES`.

mod aliases;
mod alternating_devices;
mod batches;
#[path = "../common/mod.rs"]
mod common;
mod flex32;
mod fused_neighbours;
mod half_parameters;
mod leftovers;
mod out_of_range;
mod quantised_parameters;
mod records;
mod residual_stream;
mod second_order;
mod threads;
mod training_switches;
