//! The end of a fit that is interrupted, or out of time, before there is anything to keep: while its table is read, or its model is built.

use std::sync::Arc;
use std::time::Duration;

use deepgp_io::atomic::Lock;
use serde_json::json;

use super::time_limit::TimeLimit;
use crate::terminal::abandon::Abandonable;
use crate::terminal::output::{self, Voice};

/// The exit code of a fit whose table cannot be read, or whose training cannot begin, in time: that of a command that failed.
const OUT_OF_TIME: u8 = 1;

/// How long after the time of the command its start is given up: what looks at the clock ends in time by itself, and a model that is nearly
/// there is worth the wait.
const GRACE: Duration = Duration::from_secs(5);

/// Work before training begins, which leaves nothing if a signal ends it, or the time of the command. The lock file goes too, if there is one.
pub fn before_training(lock: Option<&Arc<Lock>>, limit: Option<TimeLimit>, voice: Voice) -> Abandonable {
    let work = leaving_nothing(lock, move || nothing_was_written(voice));
    until_limit(work, lock, limit, GRACE, "before training could begin")
}

/// Work before a fold's training begins: if a signal ends it, `last_words` tell of the folds before.
pub fn before_fold(
    lock: Option<&Arc<Lock>>,
    limit: Option<TimeLimit>,
    last_words: impl FnOnce() + Send + 'static,
) -> Abandonable {
    until_limit(leaving_nothing(lock, last_words), lock, limit, GRACE, "before training could begin")
}

/// Reading a table before training begins. If there is no time left for anything else, that is a failure: nothing can be learnt from a table
/// that is not there yet.
pub fn while_reading(lock: Option<&Arc<Lock>>, limit: Option<TimeLimit>, voice: Voice) -> Abandonable {
    let work = leaving_nothing(lock, move || nothing_was_written(voice));
    until_limit(work, lock, limit, Duration::ZERO, "while the table was read")
}

/// Work that leaves no file if a signal ends it.
fn leaving_nothing(lock: Option<&Arc<Lock>>, last_words: impl FnOnce() + Send + 'static) -> Abandonable {
    let lock = lock.cloned();
    Abandonable::new(move || {
        lock.iter().for_each(|lock| lock.remove_file());
        last_words();
    })
}

/// Tells that a fit ended before there was anything to keep.
fn nothing_was_written(voice: Voice) {
    output::say(voice, "interrupted before training began: nothing was written");
    if voice.json {
        let _ = output::json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "model": null,
            "interrupted": true,
        }));
    }
}

/// The same work, which is a failure if it is not done when the time of the command is up, and `grace` after it; `when` says what there was no
/// time for.
fn until_limit(
    work: Abandonable,
    lock: Option<&Arc<Lock>>,
    limit: Option<TimeLimit>,
    grace: Duration,
    when: &'static str,
) -> Abandonable {
    let Some(limit) = limit else { return work };
    let lock = lock.cloned();
    work.until(limit.end() + grace, move || {
        lock.iter().for_each(|lock| lock.remove_file());
        let text = format!("error: --time-limit {}s: the time was up {when}: give it more", limit.seconds());
        output::tell(&text);
        OUT_OF_TIME
    })
}
