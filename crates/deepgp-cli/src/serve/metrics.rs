//! What the server has done so far, as Prometheus reads it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::StatusCode;

use super::route::Route;

/// Upper ends of the buckets of latencies, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0];

/// Counts of what the server has done.
#[derive(Debug, Default)]
pub struct Metrics(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Requests by route and status.
    requests: BTreeMap<(Route, u16), u64>,
    latencies: BTreeMap<Route, Latencies>,
    rows: u64,
}

/// How long the requests of a route took, from their heads to their answers.
#[derive(Clone, Debug, Default)]
struct Latencies {
    /// Requests in each bucket that are in no smaller one.
    buckets: [u64; BUCKETS.len()],
    requests: u64,
    seconds: f64,
}

impl Metrics {
    /// Counts a request.
    pub fn count(&self, route: Route, status: StatusCode, took: Duration) {
        let (mut counts, seconds) = (self.counts(), took.as_secs_f64());
        *counts.requests.entry((route, status.as_u16())).or_default() += 1;
        let own = counts.latencies.entry(route).or_default();
        own.requests += 1;
        own.seconds += seconds;
        if let Some(bucket) = BUCKETS.iter().position(|end| seconds <= *end) {
            own.buckets[bucket] += 1;
        }
    }

    /// Counts rows that were predicted.
    pub fn count_rows(&self, rows: u64) {
        self.counts().rows += rows;
    }

    /// How many requests have been counted.
    pub fn requests(&self) -> u64 {
        self.counts().requests.values().sum()
    }

    /// The counts in Prometheus' text format.
    pub fn text(&self, connections: usize) -> String {
        let counts = self.counts();
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(text, "# HELP deepgp_{name} {help}\n# TYPE deepgp_{name} {kind}");
        };
        head(&mut text, "build_info", "gauge", "The version of deepgp.");
        let _ = writeln!(text, "deepgp_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
        head(&mut text, "connections", "gauge", "Open connections.");
        let _ = writeln!(text, "deepgp_connections {connections}");
        head(&mut text, "rows_predicted_total", "counter", "Rows that were predicted.");
        let _ = writeln!(text, "deepgp_rows_predicted_total {}", counts.rows);
        head(&mut text, "requests_total", "counter", "Requests by route and status.");
        for ((route, status), requests) in &counts.requests {
            let route = route.path();
            let _ = writeln!(text, "deepgp_requests_total{{route=\"{route}\",status=\"{status}\"}} {requests}");
        }
        head(&mut text, "request_seconds", "histogram", "Seconds from the head of a request to its answer.");
        for (route, own) in &counts.latencies {
            let (route, mut below) = (route.path(), 0);
            for (end, requests) in BUCKETS.iter().zip(own.buckets) {
                below += requests;
                let _ = writeln!(text, "deepgp_request_seconds_bucket{{route=\"{route}\",le=\"{end}\"}} {below}");
            }
            let Latencies { requests, seconds, .. } = own;
            let _ = writeln!(text, "deepgp_request_seconds_bucket{{route=\"{route}\",le=\"+Inf\"}} {requests}");
            let _ = writeln!(text, "deepgp_request_seconds_sum{{route=\"{route}\"}} {seconds}");
            let _ = writeln!(text, "deepgp_request_seconds_count{{route=\"{route}\"}} {requests}");
        }
        text
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up_and_what_is_slower_than_all_is_in_the_last() {
        let metrics = Metrics::default();
        for millis in [1, 3, 4, 70_000] {
            metrics.count(Route::Predict, StatusCode::OK, Duration::from_millis(millis));
        }
        metrics.count(Route::Unknown, StatusCode::NOT_FOUND, Duration::from_millis(1));
        metrics.count_rows(7);
        let text = metrics.text(3);
        for line in [
            "deepgp_rows_predicted_total 7",
            "deepgp_connections 3",
            "deepgp_requests_total{route=\"/predict\",status=\"200\"} 4",
            "deepgp_requests_total{route=\"other\",status=\"404\"} 1",
            "deepgp_request_seconds_bucket{route=\"/predict\",le=\"0.001\"} 1",
            "deepgp_request_seconds_bucket{route=\"/predict\",le=\"0.005\"} 3",
            "deepgp_request_seconds_bucket{route=\"/predict\",le=\"30\"} 3",
            "deepgp_request_seconds_bucket{route=\"/predict\",le=\"+Inf\"} 4",
            "deepgp_request_seconds_count{route=\"/predict\"} 4",
        ] {
            assert!(text.lines().any(|own| own == line), "{line} is not in\n{text}");
        }
        assert_eq!(metrics.requests(), 5);
    }
}
