//! Tables written as Parquet, row after row: columns of numbers and of texts, in which cells may be missing.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// The number of rows of a row group, which are in memory until they are written.
const GROUP: usize = 1 << 16;

/// What a column that is written holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Numbers of double precision.
    Number,
    /// Texts.
    Text,
}

/// The cells of a column that are not written yet: those that are there, and for each row whether it has one.
enum Cells {
    Numbers(Vec<f64>, Vec<i16>),
    Texts(Vec<ByteArray>, Vec<i16>),
}

/// A table that is being written.
pub struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    columns: Vec<Cells>,
    /// The number of rows that are not written yet.
    rows: usize,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// A table with these columns, and no rows yet.
    pub fn new(out: W, columns: &[(String, CellKind)]) -> io::Result<Self> {
        let field = |(name, kind): &(String, CellKind)| {
            let (physical, logical) = match kind {
                CellKind::Number => (Physical::DOUBLE, None),
                CellKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
            Ok(Arc::new(field.with_logical_type(logical).build()?))
        };
        let fields: Result<Vec<_>, ParquetError> = columns.iter().map(field).collect();
        let schema = Type::group_type_builder("table").with_fields(fields.map_err(io::Error::other)?).build();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let schema = Arc::new(schema.map_err(io::Error::other)?);
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(io::Error::other)?;
        let empty = |(_, kind): &(String, CellKind)| match kind {
            CellKind::Number => Cells::Numbers(Vec::new(), Vec::new()),
            CellKind::Text => Cells::Texts(Vec::new(), Vec::new()),
        };
        Ok(Self { file, columns: columns.iter().map(empty).collect(), rows: 0 })
    }

    /// Adds a row. An empty cell is a missing one; so is one that is no number in a column of numbers.
    pub fn write_row(&mut self, cells: &[String]) -> io::Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            match column {
                Cells::Numbers(values, there) => {
                    let number = cell.parse::<f64>().ok();
                    there.push(i16::from(number.is_some()));
                    values.extend(number);
                }
                Cells::Texts(values, there) => {
                    there.push(i16::from(!cell.is_empty()));
                    values.extend((!cell.is_empty()).then(|| ByteArray::from(cell.as_str())));
                }
            }
        }
        self.rows += 1;
        if self.rows == GROUP { self.write_group().map_err(io::Error::other) } else { Ok(()) }
    }

    /// Writes what is in memory as a row group.
    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for cells in &mut self.columns {
            let Some(mut column) = group.next_column()? else { break };
            match cells {
                Cells::Numbers(values, there) => {
                    column.typed::<DoubleType>().write_batch(values, Some(there), None)?;
                    values.clear();
                    there.clear();
                }
                Cells::Texts(values, there) => {
                    column.typed::<ByteArrayType>().write_batch(values, Some(there), None)?;
                    values.clear();
                    there.clear();
                }
            }
            column.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    /// Writes the rest, and gives back what the table was written to.
    pub fn finish(mut self) -> io::Result<W> {
        if self.rows > 0 {
            self.write_group().map_err(io::Error::other)?;
        }
        self.file.into_inner().map_err(io::Error::other)
    }
}

impl<W: Write + Send> std::fmt::Debug for ParquetWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetWriter").field("columns", &self.columns.len()).field("rows", &self.rows).finish()
    }
}
