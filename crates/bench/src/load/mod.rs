//! Sending requests the way people or other programs would, and measuring the answers.
//!
//! In: a [`Target`], a [`LoadPlan`], a sink for progress. Out: a [`LoadResult`]. Two kinds of load:
//!
//! - **Closed loop** (no rate): each user sends, waits for the answer, thinks, and sends again. A
//!   slow answer delays the next request of its user, so pauses of the target are seen by few.
//! - **Open loop** (a rate): requests are due at fixed instants, whatever the target does, and their
//!   time counts from that instant, also while they wait for a free user. A pause of the target is
//!   seen by every request that fell into it (no coordinated omission).
//!
//! Read on in [`target`] (where load may go), `client` (one connection), `pace` (when users send),
//! `recorder` (what is counted), `run` (threads, phases, the end).

mod client;
mod pace;
mod recorder;
mod run;
pub mod target;

pub(crate) use self::client::{Failure, Keeper, fetch};
pub use self::{
    recorder::{ErrorCounts, LoadResult, Point},
    run::{LoadPlan, Progress, ProgressSink, run, warm_up},
    target::{Target, TargetOptions},
};
