//! The folder of results: a journal for each experiment, and the tables, figures and page that are made of them.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use deepgp_io::atomic;

use super::Experiment;
use super::continued::{self, ContinuedLine, PeerLine};
use super::defaults::{self, DefaultsLine};
use super::forms::{self, FormsLine};
use super::grid::{self, BaselineLine, GridLine};
use super::inducing::{self, InducingLine};
use super::page;
use super::results::section::ResultSection;
use super::runs::journal::Journal;
use super::runs::queue::{QueueOutcome, Run, make_all};
use super::runs::setup::Setup;
use crate::arguments::ReproduceArgs;
use crate::html::Figure;
use crate::picture;
use crate::terminal::output;
use crate::terminal::text::count;

/// A folder of results, with its journals read and kept from other processes.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The lock on the folder, held as long as this value lives; `None` where the system cannot lock folders.
    _lock: Option<File>,
    results: Journal<GridLine>,
    /// The scores of baselines on the grid's splits.
    pub baselines: Journal<BaselineLine>,
    forms: Journal<FormsLine>,
    inducing: Journal<InducingLine>,
    defaults: Journal<DefaultsLine>,
    continued: Journal<ContinuedLine>,
    /// The scores of other programs' models on the splits of the paper continued, which they write themselves.
    peers: Journal<PeerLine>,
}

/// The finished runs of all experiments, as they stand in the journals.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// The runs of the paper's grid of models.
    pub results: &'a [GridLine],
    /// The scores of baselines on the grid's splits.
    pub baselines: &'a [BaselineLine],
    /// The runs of the forms of mean and covariance.
    pub forms: &'a [FormsLine],
    /// The runs of the starts of inducing inputs.
    pub inducing: &'a [InducingLine],
    /// The runs of the settings that could be the defaults.
    pub defaults: &'a [DefaultsLine],
    /// The runs of full and decoupled models with both densities.
    pub continued: &'a [ContinuedLine],
    /// The scores of other programs' models on the same splits.
    pub peers: &'a [PeerLine],
}

impl Folder {
    /// Opens the folder and reads its journals. Fails if another process works on it: both would make the same runs.
    pub fn open(path: &Path) -> Result<Self> {
        // Not every system can lock a folder; where it cannot, users take care.
        let lock = File::open(path).ok();
        if let Some(Err(TryLockError::WouldBlock)) = lock.as_ref().map(File::try_lock) {
            let shown = path.display();
            bail!("another process works on {shown}: wait for it, or give this one a folder of its own with --out");
        }
        Ok(Self {
            path: path.into(),
            _lock: lock,
            results: Journal::open(&path.join("results.jsonl"))?,
            baselines: Journal::open(&path.join("baselines.jsonl"))?,
            forms: Journal::open(&path.join("forms.jsonl"))?,
            inducing: Journal::open(&path.join("inducing.jsonl"))?,
            defaults: Journal::open(&path.join("defaults.jsonl"))?,
            continued: Journal::open(&path.join("continued.jsonl"))?,
            peers: Journal::open(&path.join("peers.jsonl"))?,
        })
    }

    /// Makes the runs of an experiment that its journal lacks.
    pub fn perform(&mut self, experiment: Experiment, args: &ReproduceArgs, setup: &Setup) -> Result<QueueOutcome> {
        match experiment {
            Experiment::Tables => self.complete("tables", &grid::runs(args), setup, |folder| &mut folder.results),
            Experiment::Forms => self.complete("forms", &forms::runs(args), setup, |folder| &mut folder.forms),
            Experiment::Inducing => {
                self.complete("inducing inputs", &inducing::runs(args), setup, |folder| &mut folder.inducing)
            }
            Experiment::Defaults => {
                self.complete("defaults", &defaults::runs(args), setup, |folder| &mut folder.defaults)
            }
            Experiment::Continued => {
                self.complete("the paper, continued", &continued::runs(args), setup, |folder| &mut folder.continued)
            }
        }
    }

    /// Counts the runs of an experiment: those that are asked for, and those of them that the journal has.
    pub fn count(&self, experiment: Experiment, args: &ReproduceArgs) -> (usize, usize) {
        fn of<R: Run>(runs: &[R], journal: &Journal<R::Line>) -> (usize, usize) {
            (runs.len(), runs.iter().filter(|run| journal.has(run)).count())
        }
        match experiment {
            Experiment::Tables => of(&grid::runs(args), &self.results),
            Experiment::Forms => of(&forms::runs(args), &self.forms),
            Experiment::Inducing => of(&inducing::runs(args), &self.inducing),
            Experiment::Defaults => of(&defaults::runs(args), &self.defaults),
            Experiment::Continued => of(&continued::runs(args), &self.continued),
        }
    }

    /// Makes those of `runs` that their journal lacks, and publishes all results after each.
    fn complete<R: Run>(
        &mut self,
        name: &str,
        runs: &[R],
        setup: &Setup,
        journal: fn(&mut Self) -> &mut Journal<R::Line>,
    ) -> Result<QueueOutcome> {
        let mut left = Vec::new();
        for run in runs {
            let asked = run.settings(setup).train.steps;
            match journal(self).find(run).map(|line| R::provenance(line).planned_steps()) {
                None => left.push(run),
                // Results of another length do not stand for these.
                Some(Some(found)) if found != asked => bail!(
                    "{run} is there already, but of {found} steps instead of {asked}: choose another --out, or as many by --epochs or --steps"
                ),
                Some(_) => {}
            }
        }
        let device = setup.accelerator.as_ref().map_or_else(|| "the CPU".into(), |accelerator| accelerator.name());
        let jobs = setup.jobs.min(left.len());
        let at_a_time = if jobs > 1 { format!(", {jobs} at a time") } else { String::new() };
        let counts = format!("{}, {} of them done", count(runs.len(), "run"), runs.len() - left.len());
        output::say(setup.voice, &format!("{name}: {counts}; computing on {device}{at_a_time}"));
        make_all(&left, setup, |line| {
            journal(self).add(line)?;
            self.publish()
        })
    }

    /// Writes tables, figures and page of all results so far.
    pub fn publish(&self) -> Result<()> {
        let Self { path, results, baselines, forms, inducing, defaults, continued, peers, .. } = self;
        let lines = Lines {
            results: &results.lines,
            baselines: &baselines.lines,
            forms: &forms.lines,
            inducing: &inducing.lines,
            defaults: &defaults.lines,
            continued: &continued.lines,
            peers: &peers.lines,
        };
        publish(path, lines)
    }
}

/// The sections of all experiments, in the order of the page.
pub fn sections(lines: Lines<'_>) -> Vec<ResultSection> {
    let grid = grid::sections(lines.results, lines.baselines);
    let others = [
        forms::sections(lines.forms),
        inducing::sections(lines.inducing),
        defaults::sections(lines.defaults),
        continued::sections(lines.continued, lines.peers),
    ];
    grid.into_iter().chain(others.into_iter().flatten()).collect()
}

/// Writes tables, figures and page of `lines` into a folder.
fn publish(folder: &Path, lines: Lines<'_>) -> Result<()> {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        atomic::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    let sections = sections(lines);
    let tables: String = sections.iter().map(ResultSection::markdown).collect();
    write("tables.md", format!("# The paper's experiments, run again\n{tables}").as_bytes())?;
    write("tables.tex", grid::latex(lines.results).as_bytes())?;
    for Figure { stem, picture, .. } in sections.iter().flat_map(|section| &section.figures) {
        let svg = picture.standalone();
        write(&format!("{stem}.svg"), svg.as_bytes())?;
        write(&format!("{stem}.png"), &picture::png(&svg).map_err(|reason| anyhow!("{stem}: {reason}"))?)?;
    }
    write("index.html", page::page(lines, &sections).as_bytes())
}
