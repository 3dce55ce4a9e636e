//! What the integration tests share.
#![allow(dead_code, reason = "every test binary uses a part of it")]

pub mod npz;
