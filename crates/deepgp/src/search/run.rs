//! The search itself: brackets one after the other, rung by rung, several candidates at once.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::budget::{Crowd, SearchBudget};
use super::candidate::Candidate;
use super::halving::{BRACKET, HalvingPlan, promoted};
use super::log::{Bracket, SearchEntry, SearchLog, Trial, TrialOutcome};
use super::metric::SearchMetric;
use super::space::SearchSpace;
use super::store::SearchStore;
use super::trial::{Advance, SearchPart, TrialModel, advance};
use crate::backend::{BURST, Backend};
use crate::error::{Error, Result};
use crate::model::memory::FitMemory;
use crate::settings::{FitSettings, PredictSettings};

/// How often whoever watches is asked.
const TICK: Duration = Duration::from_millis(50);
/// The steps by which it is found out how long a step takes, before there is a plan.
const PACE_STEPS: u64 = 10;

/// What a search looks for, and how long.
#[derive(Clone, Debug)]
pub struct SearchSettings {
    /// The settings of candidate 0.
    pub base: FitSettings,
    /// The settings that may change.
    pub space: SearchSpace,
    /// The metric that judges.
    pub metric: SearchMetric,
    /// What the search may take.
    pub budget: SearchBudget,
    /// The seed of the candidates.
    pub seed: u64,
    /// The number of candidates that are trained at once; nothing but time depends on it.
    pub jobs: usize,
    /// The bytes of memory that there are for all that are trained at once, if that is known: candidates that take more are none.
    pub memory: Option<u64>,
}

/// A search for the settings of a fit.
#[derive(Clone, Debug)]
pub struct Search {
    /// The rows: one part, or one for each fold.
    pub parts: Vec<SearchPart>,
    /// What is looked for.
    pub settings: SearchSettings,
    /// Where to compute; `None` is the processor.
    pub accelerator: Option<Arc<dyn Backend>>,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// All candidates that were asked for have been judged, or there is none left that is new.
    Done,
    /// The time was up.
    OutOfTime,
    /// Whoever watches has cut it short.
    Interrupted,
}

/// What whoever watches a search sees, many times a second.
#[derive(Clone, Copy, Debug)]
pub enum SearchEvent<'a> {
    /// It is found out how long a step takes.
    Pacing,
    /// A bracket was opened.
    Opened(&'a Bracket),
    /// Candidates are on their way to a rung: their numbers, and the shares of the way that they have behind them.
    Working {
        /// The rung.
        rung: usize,
        /// The candidates.
        shares: &'a [(usize, f64)],
        /// Seconds that are left for the search, if they are limited.
        left: Option<f64>,
    },
    /// A candidate was judged.
    Judged(&'a Trial),
}

/// Whoever watches: it sees the log and what happens, and can cut the search short.
pub type SearchWatch<'a> = dyn FnMut(&SearchLog, SearchEvent<'_>) -> ControlFlow<()> + 'a;

/// What a worker has made of a candidate.
type Judged = Result<Option<(Trial, Vec<TrialModel>)>>;

impl Search {
    /// Searches, from where `log` ends. `store` keeps what is found out as it comes, and has the models of a log that has begun; after an end of any kind
    /// it has those of candidate 0 and of the best.
    pub fn run<S: SearchStore>(
        &self,
        log: &mut SearchLog,
        store: &mut S,
        watch: &mut SearchWatch<'_>,
    ) -> std::result::Result<SearchEnd, S::Error> {
        let plan = match log.plan() {
            Some(plan) => plan.clone(),
            None => {
                let Some(plan) = self.plan(log, watch)? else { return Ok(SearchEnd::Interrupted) };
                keep(log, store, SearchEntry::Plan(plan.clone()), &[])?;
                plan
            }
        };
        for number in 0.. {
            let known = log.brackets().nth(number).cloned();
            let bracket = match known {
                Some(bracket) => bracket,
                None => match self.open(log, &plan, number) {
                    Ok(bracket) => {
                        keep(log, store, SearchEntry::Bracket(bracket.clone()), &[])?;
                        bracket
                    }
                    Err(end) => return Ok(end),
                },
            };
            if watch(log, SearchEvent::Opened(&bracket)).is_break() {
                return Ok(SearchEnd::Interrupted);
            }
            let best_before = log.leader();
            let mut going: Vec<usize> = bracket.candidates.iter().map(|own| own.number).collect();
            for rung in 0..plan.rungs.len() {
                let due: Vec<&Candidate> =
                    bracket.candidates.iter().filter(|own| going.contains(&own.number)).collect();
                if let Some(end) = self.judge(&due, rung, &plan, log, store, watch)? {
                    return Ok(end);
                }
                let losses: Vec<_> = going.iter().map(|number| (*number, log.loss(*number, rung))).collect();
                let best = log.leader();
                let on = if rung + 1 < plan.rungs.len() { promoted(&losses) } else { Vec::new() };
                for number in going.iter().filter(|number| !is_kept(**number, rung, best) && !on.contains(number)) {
                    store.forget(*number, rung)?;
                }
                if rung > 0 {
                    for number in going.iter().filter(|number| !is_kept(**number, rung - 1, best)) {
                        store.forget(*number, rung - 1)?;
                    }
                }
                going = on;
            }
            if let (Some((number, rung)), true) = (best_before, best_before != log.leader())
                && number > 0
            {
                store.forget(number, rung)?;
            }
        }
        Ok(SearchEnd::Done)
    }

    /// The rungs; `None` if whoever watches does not want to know.
    fn plan(&self, log: &SearchLog, watch: &mut SearchWatch<'_>) -> Result<Option<HalvingPlan>> {
        let look_every = self.settings.base.train.validate_every;
        let time = match self.settings.budget {
            SearchBudget::Candidates { steps, .. } => return Ok(Some(HalvingPlan::new(steps, look_every, usize::MAX))),
            SearchBudget::Time(time) => time,
        };
        let Some(part) = self.parts.first() else { return Err(no_rows()) };
        let (mut before, mut steps, mut asked) = (0.0, 0.0, false);
        let mut settings = self.settings.base.clone();
        settings.train.steps = settings.train.steps.max(PACE_STEPS);
        let stopped = AtomicBool::new(false);
        let model = std::thread::scope(|scope| {
            let mut began = Instant::now();
            let (before, steps, stopped) = (&mut before, &mut steps, &stopped);
            let mut step = move |step: u64| {
                match step {
                    0 => began = Instant::now(),
                    // What comes before the first step is a look at the validation rows, and a step.
                    1 => *before = began.elapsed().as_secs_f64(),
                    _ => *steps = began.elapsed().as_secs_f64() - *before,
                }
                if stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let accelerator = self.accelerator.clone();
            let job = scope.spawn(move || advance(part, &settings, accelerator, (None, PACE_STEPS), &mut step));
            while !job.is_finished() {
                std::thread::sleep(TICK);
                if watch(log, SearchEvent::Pacing).is_break() {
                    asked = true;
                    stopped.store(true, Ordering::Relaxed);
                }
            }
            job.join()
        });
        let advanced = model.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match advanced {
            _ if asked => return Ok(None),
            Advance::Failed(reason) => return Err(reason),
            Advance::There(_) | Advance::Cut => {}
        }
        let step = steps / (PACE_STEPS - 1) as f64;
        let look = (before - step).max(0.0);
        let pace = (step + look / look_every as f64).max(1e-6);
        Ok(Some(time.plan(pace, look_every, self.crowd())))
    }

    /// Whether there is memory for a fit with these settings beside others.
    fn fits(&self, settings: &FitSettings) -> bool {
        let (Some(memory), Some(part)) = (self.settings.memory, self.parts.first()) else { return true };
        let latent = settings.model.likelihood.start(part.train.y().ncols()).latent_width();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let one = FitMemory::of(part.train.len(), part.train.x().ncols(), latent, settings, threads);
        one.total().saturating_mul(self.settings.jobs.max(1) as u64) <= memory
    }

    fn crowd(&self) -> Crowd {
        Crowd { parts: self.parts.len(), jobs: self.settings.jobs }
    }

    /// The next bracket, around the best so far; or how the search ends in place of it.
    fn open(&self, log: &SearchLog, plan: &HalvingPlan, number: usize) -> std::result::Result<Bracket, SearchEnd> {
        let SearchSettings { base, space, budget, seed, .. } = &self.settings;
        let made = log.candidates().count();
        let size = match budget {
            SearchBudget::Candidates { candidates, .. } => BRACKET.min(candidates.saturating_sub(made)),
            SearchBudget::Time(time) => {
                let pace = log.pace(0).or(plan.pace).unwrap_or(0.0);
                let left = time.left(self.pace_of_best(log).unwrap_or(pace), plan.steps);
                time.bracket(plan, pace, self.crowd(), number == 0, left)
            }
        };
        let end = match budget {
            SearchBudget::Candidates { .. } => SearchEnd::Done,
            SearchBudget::Time(_) => SearchEnd::OutOfTime,
        };
        if size == 0 {
            return Err(end);
        }
        let centre = log.leader().and_then(|(best, _)| log.candidate(best).cloned());
        let centre = centre.unwrap_or_else(Candidate::unchanged);
        let mut all: Vec<Candidate> = log.candidates().cloned().collect();
        if all.is_empty() {
            all.push(Candidate::unchanged());
        }
        while all.len() < made + size {
            let next = Candidate::next(&centre, all.len(), space, (base, &all), &|own| self.fits(own), *seed);
            match next {
                Some(next) => all.push(next),
                None => break,
            }
        }
        let candidates = all.split_off(made);
        if candidates.is_empty() {
            return Err(SearchEnd::Done);
        }
        Ok(Bracket { number, centre: centre.number, candidates })
    }

    /// The seconds of a step of the best candidate, on one part.
    fn pace_of_best(&self, log: &SearchLog) -> Option<f64> {
        log.leader().and_then(|(best, _)| log.pace(best))
    }

    /// Trains candidates up to a rung, those that have not been there, and has them judged; how the search ends, if it does.
    fn judge<S: SearchStore>(
        &self,
        due: &[&Candidate],
        rung: usize,
        plan: &HalvingPlan,
        log: &mut SearchLog,
        store: &mut S,
        watch: &mut SearchWatch<'_>,
    ) -> std::result::Result<Option<SearchEnd>, S::Error> {
        let mut tasks = Vec::new();
        for &candidate in due.iter().filter(|own| log.trial(own.number, rung).is_none()) {
            let before = match rung {
                0 => Vec::new(),
                _ => store.models(candidate.number, rung - 1)?,
            };
            tasks.push(Task { candidate, before, rung, done: AtomicU64::new(0) });
        }
        let jobs = self.settings.jobs.clamp(1, tasks.len().max(1));
        let (stop, next) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (mut end, mut failure) = (None, None);
        std::thread::scope(|scope| {
            let (send, receive) = channel::<Judged>();
            for _ in 0..jobs {
                let (send, tasks, stop, next) = (send.clone(), &tasks, &stop, &next);
                scope.spawn(move || {
                    while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if stop.load(Ordering::Relaxed) || send.send(self.try_out(task, plan, stop)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(send);
            loop {
                let event = match receive.recv_timeout(TICK) {
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) | Ok(Ok(None)) => None,
                    Ok(Ok(Some((trial, models)))) => {
                        let kept = keep(log, store, SearchEntry::Trial(trial.clone()), &models);
                        failure = failure.take().or(kept.err());
                        Some(trial)
                    }
                    Ok(Err(error)) => {
                        failure = failure.take().or(Some(error.into()));
                        None
                    }
                };
                let left = self.left(log, plan);
                let shares: Vec<(usize, f64)> = tasks.iter().filter_map(|task| task.share(plan)).collect();
                let seen = match &event {
                    Some(trial) => watch(log, SearchEvent::Judged(trial)),
                    None => watch(log, SearchEvent::Working { rung, shares: &shares, left }),
                };
                if seen.is_break() {
                    end = Some(SearchEnd::Interrupted);
                } else if left.is_some_and(|left| left <= 0.0) {
                    end = end.or(Some(SearchEnd::OutOfTime));
                }
                if end.is_some() || failure.is_some() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        let all_there = due.iter().all(|own| log.trial(own.number, rung).is_some());
        match failure {
            Some(error) => Err(error),
            // What was asked for at the last moment is done.
            None if all_there && end != Some(SearchEnd::Interrupted) => Ok(None),
            None => Ok(end),
        }
    }

    /// Seconds that are left for the search, if they are limited.
    fn left(&self, log: &SearchLog, plan: &HalvingPlan) -> Option<f64> {
        match self.settings.budget {
            SearchBudget::Candidates { .. } => None,
            SearchBudget::Time(time) => Some(time.left(self.pace_of_best(log).unwrap_or(0.0), plan.steps)),
        }
    }

    /// Trains a candidate up to a rung on all parts, and has it judged; `None` if it was cut short.
    fn try_out(&self, task: &Task<'_>, plan: &HalvingPlan, stop: &AtomicBool) -> Judged {
        let Task { candidate, before, rung, done } = task;
        let (rung, to) = (*rung, plan.rungs[*rung]);
        let settings = self.settings_of(candidate, plan);
        let threads = settings.train.threads;
        let began = Instant::now();
        let (mut models, mut each, mut steps) = (Vec::new(), Vec::new(), 0);
        let trial = |outcome: TrialOutcome, steps: u64| Trial {
            candidate: candidate.number,
            rung,
            outcome,
            steps,
            seconds: began.elapsed().as_secs_f64(),
        };
        for (at, part) in self.parts.iter().enumerate() {
            let before = before.get(at);
            let first = before.map_or(0, |own| own.state.step);
            let (mut slow, mut since) = (None, None);
            let mut watch = |step: u64| {
                let share = (at as f64 + step as f64 / to as f64) / self.parts.len() as f64;
                done.store(share.to_bits(), Ordering::Relaxed);
                if step == 1 {
                    since = Some(Instant::now());
                }
                if let (0, Some(since), SearchBudget::Time(time)) = (rung, since, self.settings.budget)
                    && step > BURST
                {
                    let pace = since.elapsed().as_secs_f64() / (step - 1) as f64;
                    // Without candidate 0 there is nothing to compare with.
                    slow = (candidate.number > 0 && time.is_too_slow(pace, plan.steps)).then_some(pace);
                }
                let cut = slow.is_some() || stop.load(Ordering::Relaxed);
                if cut { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let advanced = advance(part, &settings, self.accelerator.clone(), (before, to), &mut watch);
            let model = match (advanced, slow) {
                (_, Some(pace)) => return Ok(Some((trial(TrialOutcome::TooSlow { pace }, steps), Vec::new()))),
                (Advance::Cut, None) => return Ok(None),
                (Advance::Failed(reason), None) => return self.failed(candidate, reason, |own| trial(own, steps)),
                (Advance::There(model), None) => *model,
            };
            steps += model.state.step - first;
            let predict = PredictSettings { threads, ..PredictSettings::default() };
            match self.settings.metric.score(&model.regressor, &part.judge, predict) {
                Ok(score) if score.is_finite() => each.push(score),
                Ok(score) => {
                    let reason = Error::Setting { name: "score", value: score.to_string(), requirement: "finite" };
                    return self.failed(candidate, reason, |own| trial(own, steps));
                }
                Err(reason) => return self.failed(candidate, reason, |own| trial(own, steps)),
            }
            models.push(model);
        }
        let score = each.iter().sum::<f64>() / each.len() as f64;
        Ok(Some((trial(TrialOutcome::Scored { score, each }, steps), models)))
    }

    /// What comes of a candidate that failed: settings that do not suit the rows are its failure, unless they are those of candidate 0; that a device does
    /// not answer is the search's.
    fn failed(&self, candidate: &Candidate, reason: Error, trial: impl Fn(TrialOutcome) -> Trial) -> Judged {
        let is_own = reason.can_be_rolled_back() || candidate.number > 0 && !matches!(reason, Error::Device { .. });
        if !is_own {
            return Err(reason);
        }
        Ok(Some((trial(TrialOutcome::Failed { reason: reason.to_string() }), Vec::new())))
    }

    /// The settings of a candidate's fits: over all steps of the plan, and with a look at the validation rows before the lowest rung.
    fn settings_of(&self, candidate: &Candidate, plan: &HalvingPlan) -> FitSettings {
        let mut settings = candidate.settings(&self.settings.base);
        settings.train.steps = plan.steps;
        let lowest = plan.rungs.first().copied().unwrap_or(plan.steps);
        settings.train.validate_every = settings.train.validate_every.min(lowest);
        if self.settings.jobs > 1 && settings.train.threads == 0 {
            // Candidates that are trained at once have the processor's threads among them.
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            settings.train.threads = (cores / self.settings.jobs).max(1);
        }
        settings
    }
}

/// A candidate on its way to a rung.
struct Task<'a> {
    candidate: &'a Candidate,
    /// Its models on the rung below, one for each part; none on the lowest.
    before: Vec<TrialModel>,
    rung: usize,
    /// The share of the steps that are made, as bits.
    done: AtomicU64,
}

impl Task<'_> {
    /// The candidate, and the share of the way from the rung below that it has behind it, if it is under way.
    fn share(&self, plan: &HalvingPlan) -> Option<(usize, f64)> {
        let share = f64::from_bits(self.done.load(Ordering::Relaxed));
        let below = if self.rung == 0 { 0.0 } else { plan.rungs[self.rung - 1] as f64 / plan.rungs[self.rung] as f64 };
        (share > 0.0).then(|| (self.candidate.number, ((share - below) / (1.0 - below)).clamp(0.0, 1.0)))
    }
}

/// Whether a candidate's models on a rung are kept whatever comes: those of candidate 0, and of the best.
fn is_kept(number: usize, rung: usize, best: Option<(usize, usize)>) -> bool {
    number == 0 || best == Some((number, rung))
}

/// Keeps an entry in the store, and then in the log.
fn keep<S: SearchStore>(
    log: &mut SearchLog,
    store: &mut S,
    entry: SearchEntry,
    models: &[TrialModel],
) -> std::result::Result<(), S::Error> {
    store.keep(&entry, models)?;
    log.add(entry);
    Ok(())
}

/// What a search without rows is.
fn no_rows() -> Error {
    let advice = "give rows to train on";
    Error::TooFewRows { what: "a search", needed: 1, rows: 0, advice }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, simulate};
    use crate::search::store::MemoryStore;
    use crate::search::{Setting, SettingValue};
    use crate::settings::InducingSize;

    fn search(candidates: usize, jobs: usize) -> Search {
        let data = simulate::step_curve(90, 1);
        let part = |rows: std::ops::Range<u32>| -> Dataset { data.gather(&rows.collect::<Vec<_>>()).unwrap() };
        let parts = vec![SearchPart { train: part(0..60), judge: part(60..90) }];
        let mut base = FitSettings::default();
        (base.model.hidden_layers, base.model.width, base.model.inducing) = (1, 2, InducingSize::nested(12, 8));
        let space = SearchSpace::usual(&parts[0].train, &base).without(&[Setting::HiddenLayers, Setting::Width]);
        let budget = SearchBudget::Candidates { candidates, steps: 90 };
        let settings = SearchSettings { base, space, metric: SearchMetric::Crps, budget, seed: 1, jobs, memory: None };
        Search { parts, settings, accelerator: None }
    }

    fn go_on(_: &SearchLog, _: SearchEvent<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// What a log says but for how long it took.
    fn findings(log: &SearchLog) -> Vec<(usize, usize, TrialOutcome, u64)> {
        let mut all: Vec<_> =
            log.trials().map(|own| (own.rung, own.candidate, own.outcome.clone(), own.steps)).collect();
        all.sort_by_key(|own| (own.0, own.1));
        all
    }

    #[test]
    fn a_search_is_the_same_however_it_is_cut_and_however_many_are_trained_at_once() {
        let (mut whole, mut store) = (SearchLog::new(SearchMetric::Crps), MemoryStore::default());
        assert_eq!(search(11, 1).run(&mut whole, &mut store, &mut go_on), Ok(SearchEnd::Done));
        assert_eq!(whole.plan().unwrap().rungs, [10, 30, 90]);
        // Two brackets: 9 and 2 candidates on the lowest rung; the best third, with candidate 0, further up.
        let on = |rung: usize| whole.trials().filter(|own| own.rung == rung).count();
        assert_eq!(on(0), 11);
        assert!((4..=5).contains(&on(1)) && (2..=3).contains(&on(2)), "{} {}", on(1), on(2));
        let (best, rung) = whole.leader().unwrap();
        assert_eq!(rung, 2);
        for (number, rung) in [(0, 2), (best, 2)] {
            assert_eq!(store.models(number, rung).unwrap().len(), 1, "{number}");
        }

        let (mut other, mut store) = (SearchLog::new(SearchMetric::Crps), MemoryStore::default());
        assert_eq!(search(11, 3).run(&mut other, &mut store, &mut go_on), Ok(SearchEnd::Done));
        assert_eq!(findings(&other), findings(&whole));

        let (mut cut, mut store) = (SearchLog::new(SearchMetric::Crps), MemoryStore::default());
        let mut rounds = 0;
        loop {
            let mut left = 2;
            let mut stop = |_: &SearchLog, event: SearchEvent<'_>| {
                left -= i32::from(matches!(event, SearchEvent::Judged(_)));
                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            rounds += 1;
            match search(11, 1).run(&mut cut, &mut store, &mut stop).unwrap() {
                SearchEnd::Done => break,
                end => assert_eq!(end, SearchEnd::Interrupted),
            }
        }
        assert!(rounds > 5, "{rounds}");
        assert_eq!(findings(&cut), findings(&whole));
        assert_eq!(cut.leader(), whole.leader());
    }

    #[test]
    fn the_top_rung_holds_what_a_fit_makes() {
        let search = search(3, 1);
        let (mut log, mut store) = (SearchLog::new(SearchMetric::Crps), MemoryStore::default());
        search.run(&mut log, &mut store, &mut go_on).unwrap();
        let (best, _) = log.leader().unwrap();
        let rung = log.height(best).unwrap();
        assert_eq!(rung, 2);
        let settings = search.settings_of(log.candidate(best).unwrap(), log.plan().unwrap());
        let part = &search.parts[0];
        let fit = crate::Regressor::fit(&part.train, &settings, |_, _| ControlFlow::Continue(())).unwrap();
        let own = store.models(best, rung).unwrap().remove(0);
        assert_eq!(own.state.now.raw, fit.state.now.raw);
        assert_eq!(own.regressor.model.raw(), fit.regressor.model.raw());
        assert_eq!(own.regressor.spread, fit.regressor.spread);
    }

    #[test]
    fn settings_that_fail_are_a_candidate_s_failure_and_no_time_is_an_end() {
        let mut failing = search(2, 1);
        // Too few values for normal scores.
        let quantile = vec![SettingValue::TransformTarget(crate::TransformChoice::Quantile)];
        failing.settings.space = SearchSpace::default().with(quantile).unwrap();
        let (mut log, mut store) = (SearchLog::new(SearchMetric::Crps), MemoryStore::default());
        assert_eq!(failing.run(&mut log, &mut store, &mut go_on), Ok(SearchEnd::Done));
        let TrialOutcome::Failed { reason } = &log.trial(1, 0).unwrap().outcome else { panic!("{log:?}") };
        assert!(reason.contains("distinct"), "{reason}");
        assert_eq!(log.leader(), Some((0, 2)));

        let mut hasty = search(2, 1);
        let began = Instant::now();
        let time =
            super::super::SearchTime { began, until: began, afterwards: 0.0, predictions: 0.0, growth: 1.0, steps: 90 };
        hasty.settings.budget = SearchBudget::Time(time);
        let mut log = SearchLog::new(SearchMetric::Crps);
        assert_eq!(hasty.run(&mut log, &mut store, &mut go_on), Ok(SearchEnd::OutOfTime));
        assert_eq!((log.leader(), log.candidates().count()), (None, 0));
    }
}
