//! The folder of results: a journal for each experiment, and what is drawn from them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use deepgp_io::atomic;

use super::Experiment;
use super::forms::{self, FormsLine};
use super::grid::{self, BaselineLine, Line};
use super::inducing::{self, InducingLine};
use super::journal::Journal;
use super::lab::Lab;
use super::page;
use super::part::Part;
use super::queue::{Ended, work_off};
use crate::args::ReproduceArgs;
use crate::html::Figure;
use crate::picture;

/// The journals of a folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Of the grid.
    pub results: Journal<Line>,
    /// Of simpler models on its splits.
    pub baselines: Journal<BaselineLine>,
    /// Of the forms.
    pub forms: Journal<FormsLine>,
    /// Of the inducing inputs.
    pub inducing: Journal<InducingLine>,
}

/// All lines there are.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// Of the grid.
    pub results: &'a [Line],
    /// Of simpler models on its splits.
    pub baselines: &'a [BaselineLine],
    /// Of the forms.
    pub forms: &'a [FormsLine],
    /// Of the inducing inputs.
    pub inducing: &'a [InducingLine],
}

/// How far an experiment has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Whether it was cut.
    pub how: Ended,
    /// Runs that were asked for.
    pub runs: usize,
    /// Those that are there.
    pub done: usize,
}

impl Folder {
    /// Reads what is there.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self {
            path: path.into(),
            results: Journal::open(&path.join("results.jsonl"))?,
            baselines: Journal::open(&path.join("baselines.jsonl"))?,
            forms: Journal::open(&path.join("forms.jsonl"))?,
            inducing: Journal::open(&path.join("inducing.jsonl"))?,
        })
    }

    /// Makes what is left of an experiment.
    pub fn perform(&mut self, experiment: Experiment, args: &ReproduceArgs, lab: &Lab) -> Result<Progress> {
        let Self { path, results, baselines, forms, inducing } = self;
        let progress = |how, runs, done| Progress { how, runs, done };
        Ok(match experiment {
            Experiment::Tables => {
                let runs = grid::runs(args);
                let (baselines, forms, inducing) = (&baselines.lines, &forms.lines, &inducing.lines);
                let how = work_off("tables", &runs, lab, results, |results| {
                    publish(path, Lines { results, baselines, forms, inducing })
                })?;
                progress(how, runs.len(), runs.iter().filter(|run| results.has(run)).count())
            }
            Experiment::Forms => {
                let runs = forms::runs(args);
                let (results, baselines, inducing) = (&results.lines, &baselines.lines, &inducing.lines);
                let how = work_off("forms", &runs, lab, forms, |forms| {
                    publish(path, Lines { results, baselines, forms, inducing })
                })?;
                progress(how, runs.len(), runs.iter().filter(|run| forms.has(run)).count())
            }
            Experiment::Inducing => {
                let runs = inducing::runs(args);
                let (results, baselines, forms) = (&results.lines, &baselines.lines, &forms.lines);
                let how = work_off("inducing inputs", &runs, lab, inducing, |inducing| {
                    publish(path, Lines { results, baselines, forms, inducing })
                })?;
                progress(how, runs.len(), runs.iter().filter(|run| inducing.has(run)).count())
            }
        })
    }

    /// Tables, figures and page of all results so far.
    pub fn publish(&self) -> Result<()> {
        let Self { path, results, baselines, forms, inducing } = self;
        let (results, baselines) = (&results.lines, &baselines.lines);
        publish(path, Lines { results, baselines, forms: &forms.lines, inducing: &inducing.lines })
    }
}

/// What all experiments have to show.
pub fn parts(lines: Lines<'_>) -> Vec<Part> {
    let grid = grid::parts(lines.results, lines.baselines);
    grid.into_iter().chain(forms::parts(lines.forms)).chain(inducing::parts(lines.inducing)).collect()
}

fn publish(folder: &Path, lines: Lines<'_>) -> Result<()> {
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        atomic::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    let parts = parts(lines);
    let tables: String = parts.iter().map(Part::markdown).collect();
    write("tables.md", format!("# The paper's experiments, run again\n{tables}").as_bytes())?;
    write("tables.tex", grid::latex(lines.results).as_bytes())?;
    for Figure { stem, picture, .. } in parts.iter().flat_map(|part| &part.figures) {
        let svg = picture.standalone();
        write(&format!("{stem}.svg"), svg.as_bytes())?;
        write(&format!("{stem}.png"), &picture::png(&svg).map_err(|reason| anyhow!("{stem}: {reason}"))?)?;
    }
    write("index.html", page::page(lines, &parts).as_bytes())
}
