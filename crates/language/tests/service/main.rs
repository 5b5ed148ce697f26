//! The service as a client sees it: messages in, messages out.

mod cases;
mod client;
mod corpus;
mod edits;
mod hostile;
