//! Which requests fail. The same ones in each run that sends the same requests, and of one range at most two in a row:
//! a client that tries again gets everything in the end. With a share of 1 it never does.

use std::collections::HashMap;

use super::http::Request;
use super::options::Options;

const MAX_IN_A_ROW: u32 = 2;

#[derive(Clone, Copy, PartialEq)]
pub enum Fault {
    None,
    Busy,
    Cut,
    Hang,
}

#[derive(Default)]
pub struct Faults {
    requests: u64,
    /// By the end of the range, as a reply that was cut may be continued.
    in_a_row: HashMap<(String, String), u32>,
}

impl Faults {
    /// Requests so far, the current one with them.
    pub fn count(&self) -> u64 {
        self.requests
    }

    pub fn next(&mut self, request: &Request, options: &Options) -> Fault {
        self.requests += 1;
        let Options { hang, busy, cut, .. } = *options;
        if hang + busy + cut == 0.0 {
            return Fault::None;
        }
        let draw = scattered(self.requests);
        let fault = match draw {
            _ if draw < hang => Fault::Hang,
            _ if draw < hang + busy => Fault::Busy,
            _ if draw < hang + busy + cut => Fault::Cut,
            _ => Fault::None,
        };
        let range = request.header("range").unwrap_or_default();
        let end = range.rsplit('-').next().unwrap_or_default();
        let in_a_row = self.in_a_row.entry((request.target.clone(), end.to_owned())).or_default();
        let is_spared = *in_a_row == MAX_IN_A_ROW && hang + busy + cut < 1.0;
        let fault = if is_spared { Fault::None } else { fault };
        *in_a_row = if fault == Fault::None { 0 } else { *in_a_row + 1 };
        fault
    }
}

/// From 0 to 1 (splitmix64).
fn scattered(number: u64) -> f64 {
    let mut bits = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
