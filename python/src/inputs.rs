//! Inputs of a fit: an array of numbers, or a frame of more than these.

use deepgp::{ConstantColumns, Dataset, FitSettings, Mat};
use deepgp_io::table::{ConstantInputs, Schema, TargetKind};
use deepgp_io::{ModelFile, Note};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::columns::{self, Names};
use crate::frames::{self, Scanned, Table, TableTargets};
use crate::{arrays, background, errors};

/// What Python gives as the inputs of a fit.
#[derive(FromPyObject)]
pub enum Inputs<'py> {
    Array(PyReadonlyArray2<'py, f64>),
    Table(PyRef<'py, Table>),
}

/// Inputs as numbers, and what they mean.
pub struct ReadInputs {
    pub x: Mat,
    pub meaning: Meaning,
}

/// What the columns of the inputs are, and what is worth knowing about them.
pub struct Meaning {
    schema: Schema,
    notes: Vec<Note>,
    origin: Origin,
}

/// Where the columns are from, and so what the training rows have yet to say about them.
#[derive(Clone, Copy)]
enum Origin {
    /// An array: they are numbers.
    Array,
    /// A table that was looked through for the first time.
    NewTable,
    /// A table of a model that is there: what levels say about the targets is learnt anew, and columns stay.
    KnownTable,
}

/// Rows to train on, with what they mean and what is worth knowing about them.
pub struct TrainingInputs {
    pub data: Dataset,
    pub schema: Schema,
    pub notes: Vec<Note>,
}

impl Inputs<'_> {
    /// The inputs of rows with these targets; `from` is the model that training goes on with, whose columns then stay.
    pub fn read(
        &self,
        py: Python<'_>,
        y: &Mat,
        names: Names,
        kind: TargetKind,
        from: Option<&ModelFile>,
    ) -> PyResult<ReadInputs> {
        let read = |x, schema, notes, origin| ReadInputs { x, meaning: Meaning { schema, notes, origin } };
        Ok(match (self, from) {
            (Self::Array(x), Some(file)) => {
                let schema = columns::renamed(file.schema.clone(), names);
                read(arrays::matrix(x)?, schema, Vec::new(), Origin::Array)
            }
            (Self::Array(x), None) => {
                let x = arrays::matrix(x)?;
                let schema = columns::schema(names, x.ncols(), y.ncols(), kind);
                read(x, schema, Vec::new(), Origin::Array)
            }
            (Self::Table(table), Some(file)) => {
                let schema = file.schema.unsettled();
                let (x, notes) = frames::encode(py, table, &schema)?;
                read(x, columns::renamed(schema, names), notes, Origin::KnownTable)
            }
            (Self::Table(table), None) => {
                let exposure = names.exposure.clone();
                let names = columns::target_names(names.targets, y.ncols());
                let (table, targets) = (table.share(), TableTargets { names, kind, y: y.clone() });
                let Scanned { x, schema, notes } =
                    background::run(py, move |_| table.scan(targets))?.map_err(errors::table)?;
                read(x, Schema { exposure, ..schema }, notes, Origin::NewTable)
            }
        })
    }
}

impl Meaning {
    /// Rows to train on and rows to judge by, by their numbers in `data`, which has these inputs: what levels say about the targets is learnt from the
    /// former alone.
    pub fn settle_apart(
        &self,
        data: &Dataset,
        (train, judge): (&[u32], &[u32]),
        settings: &FitSettings,
    ) -> PyResult<(Dataset, Dataset)> {
        let gather = |data: &Dataset, rows: &[u32]| data.gather(rows).map_err(errors::library);
        let (schema, data) = match self.origin {
            Origin::Array => return Ok((gather(data, train)?, gather(data, judge)?)),
            Origin::KnownTable => (self.schema.clone(), data.clone()),
            Origin::NewTable => {
                let (schema, data, _) =
                    constant(settings).settle(self.schema.clone(), data.clone()).map_err(errors::table)?;
                (schema, data)
            }
        };
        let (train, judge) = (gather(&data, train)?, gather(&data, judge)?);
        let settled = schema.settle(train, Some(judge), settings.train.seed).map_err(errors::library)?;
        let judge = settled.others.ok_or_else(|| PyValueError::new_err("there are no rows to judge by"))?;
        Ok((settled.train, judge))
    }

    /// The rows to train on: those of `data`, which has these inputs. Of a table, columns that never vary are left out, and levels of categories
    /// with very many become what they say about the targets.
    pub fn settle(self, data: Dataset, settings: &FitSettings) -> PyResult<TrainingInputs> {
        let Self { schema, mut notes, origin } = self;
        let (schema, data) = match origin {
            Origin::Array => return Ok(TrainingInputs { data, schema, notes }),
            Origin::KnownTable => (schema, data),
            Origin::NewTable => {
                let (schema, data, left_out) = constant(settings).settle(schema, data).map_err(errors::table)?;
                notes.extend(left_out);
                (schema, data)
            }
        };
        let settled = schema.settle(data, None, settings.train.seed).map_err(errors::library)?;
        Ok(TrainingInputs { data: settled.train, schema: settled.schema, notes })
    }
}

/// What becomes of columns of a table that never vary.
fn constant(settings: &FitSettings) -> ConstantInputs {
    match settings.constant_columns {
        ConstantColumns::Keep => ConstantInputs::Drop,
        ConstantColumns::Reject => ConstantInputs::Reject,
    }
}
