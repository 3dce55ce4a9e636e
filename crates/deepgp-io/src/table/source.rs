//! A table, in a file or in memory: its format, its columns, and its rows as often as they are asked for.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deepgp::backend::{Alone, Communicator};
use sha2::{Digest, Sha256};

use super::content::{Content, LARGEST_KEPT};
use super::cut::{self, Joints, Portion};
use super::detect::{self, Format};
use super::dialect::{self, Dialect, Header, Sample};
use super::limits::{ReadOptions, TableLimits};
use super::memory::{self, ColumnCells, MemoryRows};
use super::several::{self, Part, SeveralRows};
use super::text::Texts;
use super::together::{Facts, together};
use super::writing::{TranslatedRows, Writings};
use super::{Cell, Note, Place, Rows, digest, names, npy, npz, parquet, text};
use crate::error::{Error, Result};

/// A table: a file that holds it, or columns in memory.
#[derive(Clone, Debug)]
pub struct Source {
    content: Content,
    layout: Layout,
    names: Vec<String>,
    notes: Vec<Note>,
    /// The processes that read it, and what this one reads of a single file.
    processes: Arc<dyn Communicator>,
    portion: Portion,
}

#[derive(Clone, Debug)]
enum Layout {
    Text(Dialect),
    Parquet,
    Npy,
    Npz,
    Memory(Arc<[Arc<ColumnCells>]>),
    Several(Arc<[Part]>),
}

impl Source {
    /// Finds out the format of the file from its bytes, and the names of its columns.
    ///
    /// - Delimited text, plain or compressed with gzip: the delimiter is one of `,` `;` tab `|`; fields may be quoted; a
    ///   byte order mark and `\r\n` are fine, and blank lines are skipped; where `;` delimits, `3,14` is a number. If
    ///   the first record is no header, columns are called `c1`, `c2`, …. A column of ISO dates is seconds since 1970, UTC.
    /// - Parquet with columns that are not nested. Decimals are numbers; dates and timestamps are seconds since 1970, times
    ///   seconds since midnight. Bytes that are no text become hexadecimal text.
    /// - NumPy arrays (`.npy`) with one or two axes; columns are called `c1`, `c2`, ….
    /// - NumPy archives (`.npz`) whose arrays have as many rows each. A column is called by its array's name, followed by
    ///   its position, from 1, if the array has several.
    ///
    /// The bytes of a file of up to 256 MiB are read now, and kept: whatever happens to the file then, all that is asked of
    /// the source is about these bytes. A larger one is read anew whenever its rows or its digest are asked for.
    ///
    /// Where several columns have one name, all but the first get a number: `a`, `a.1`, `a.2`. Text that is not UTF-8 is read as Windows-1252,
    /// of which Latin-1 is a part.
    ///
    /// Fails if there are no rows.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, Header::Auto)
    }

    /// The same for a text of which somebody knows whether it has a header, and with other limits of its size.
    pub fn open_with(path: &Path, options: impl Into<ReadOptions>) -> Result<Self> {
        Self::of(Content::open(path, LARGEST_KEPT)?, options.into())
    }

    /// The same for somebody who goes through the rows but once, or asks for the names alone: no bytes are kept, whatever
    /// the size of the file, which is read anew whenever its rows or its digest are asked for.
    pub fn open_streamed(path: &Path) -> Result<Self> {
        Self::open_streamed_with(path, Header::Auto)
    }

    /// The same for a text of which somebody knows whether it has a header, and with other limits of its size.
    pub fn open_streamed_with(path: &Path, options: impl Into<ReadOptions>) -> Result<Self> {
        Self::of(Content::open(path, 0)?, options.into())
    }

    /// The table of several files, the rows of one behind those of the other. All have the columns of the first, in any order. Bytes of files are
    /// kept only if all of them together are few enough. Fails if there is no file, or one has other columns.
    pub fn open_all_with(paths: &[PathBuf], options: impl Into<ReadOptions>) -> Result<Self> {
        let sizes = paths.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|file| file.len());
        let kept = if paths.len() == 1 || sizes.sum::<u64>() <= LARGEST_KEPT { LARGEST_KEPT } else { 0 };
        Self::open_keeping(paths, options.into(), kept)
    }

    /// The table of some files, of which each of several processes reads a share: [`Source::rows`] are this one's, one behind the other in the order of
    /// ranks, and what is found out about the table is found out by all. All processes call this, and then whatever reads the table; see `cut.rs`. No
    /// bytes are kept.
    pub fn open_among(
        paths: &[PathBuf],
        options: impl Into<ReadOptions>,
        processes: Arc<dyn Communicator>,
    ) -> Result<Self> {
        if processes.size() == 1 {
            return Self::open_all_with(paths, options);
        }
        let mut source = processes.all_fine(Self::open_keeping(paths, options.into(), 0))?;
        let files: Vec<(&Content, Joints)> = source.files().map(|file| (&file.content, file.joints())).collect();
        let mut portions = cut::portions(&*processes, &files)?.into_iter();
        source.each_file(|file| file.portion = portions.next().expect("every file has a portion"));
        Ok(Self { processes, ..source })
    }

    /// The table of some files, the bytes of each of which are kept if there are no more than so many.
    fn open_keeping(paths: &[PathBuf], options: ReadOptions, kept: u64) -> Result<Self> {
        let open = |path: &PathBuf| Self::of(Content::open(path, kept)?, options);
        match paths {
            [path] => open(path),
            paths => Self::of_parts(paths.iter().map(open).collect::<Result<_>>()?, options),
        }
    }

    /// The files of the table.
    fn files(&self) -> impl Iterator<Item = &Self> {
        let (parts, alone) = match &self.layout {
            Layout::Several(parts) => (&parts[..], None),
            Layout::Text(_) | Layout::Parquet | Layout::Npy | Layout::Npz | Layout::Memory(_) => (&[][..], Some(self)),
        };
        parts.iter().map(Part::source).chain(alone)
    }

    /// Changes how each of the files is read.
    fn each_file(&mut self, mut change: impl FnMut(&mut Self)) {
        let Layout::Several(parts) = &mut self.layout else { return change(self) };
        let mut own = parts.to_vec();
        own.iter_mut().for_each(|part| change(part.source_mut()));
        *parts = own.into();
    }

    /// How the file can be cut.
    fn joints(&self) -> Joints {
        match &self.layout {
            Layout::Text(dialect) if !dialect.gzip => Joints::Records(dialect.delimiter),
            Layout::Parquet => Joints::Groups,
            Layout::Text(_) | Layout::Npy | Layout::Npz | Layout::Memory(_) | Layout::Several(_) => Joints::None,
        }
    }

    /// What all processes have found out about the table, each about what it reads.
    pub(super) fn together<F: Facts>(&self, own: Result<F>) -> Result<F> {
        together(&*self.processes, own)
    }

    /// The number of this process among those that read the table.
    pub(super) fn rank(&self) -> usize {
        self.processes.rank()
    }

    /// What this process has, if all processes have theirs.
    pub(super) fn all_fine<T>(&self, own: Result<T>) -> Result<T> {
        self.processes.all_fine(own)
    }

    /// The number of records that the processes before this one have read, of which it has read so many itself.
    pub(super) fn before(&self, read: u64) -> Result<u64> {
        let each = self.processes.gather(&[read as f64])?;
        Ok(each[..self.processes.rank()].iter().map(|read| *read as u64).sum())
    }

    /// Fails if one of the files has numbers with two decimal marks.
    pub(super) fn check_marks(&self, texts: &Texts) -> Result<()> {
        let files: Vec<&Path> = self.files().map(Self::path).collect();
        texts.check(|file| files[file as usize])
    }

    /// The table of these files.
    fn of_parts(sources: Vec<Self>, options: ReadOptions) -> Result<Self> {
        let name = several::name_of(&sources);
        let content = Content::nowhere(&name.display().to_string()).within(options.limits);
        let Some(names) = sources.first().map(|first| first.names.clone()) else {
            return Err(Error::NoRows { path: name });
        };
        let mut notes: Vec<Note> = Vec::new();
        for note in sources.iter().flat_map(|source| &source.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let layout = Layout::Several(several::parts(sources)?.into());
        Ok(Self::of_layout(content, layout, names, notes))
    }

    /// A table that is laid out like this, all of which one process reads.
    fn of_layout(content: Content, layout: Layout, names: Vec<String>, notes: Vec<Note>) -> Self {
        Self { content, layout, names, notes, processes: Arc::new(Alone), portion: Portion::Whole }
    }

    /// A table in memory, from its columns by their names; `name` is what messages call it. Of several columns with one name, all but the
    /// first get a number, as in files. Fails if there are no rows, or not as many in each column.
    pub fn of_columns(name: &str, columns: Vec<(String, Arc<ColumnCells>)>) -> Result<Self> {
        let content = Content::nowhere(name);
        let path = content.path();
        let rows = columns.first().map_or(0, |(_, cells)| cells.rows());
        if let Some((other, cells)) = columns.iter().find(|(_, cells)| cells.rows() != rows) {
            let what =
                format!("column `{}` has {} rows, and the first has {rows}", names::shorten(other), cells.rows());
            let advice = "give as many cells for each column".into();
            return Err(Error::Unsupported { path: path.into(), what, advice });
        }
        if rows == 0 {
            return Err(Error::NoRows { path: path.into() });
        }
        let (mut names, cells): (Vec<String>, Vec<Arc<ColumnCells>>) = columns.into_iter().unzip();
        let notes = names::make_distinct(&mut names).into_iter().collect();
        Ok(Self::of_layout(content, Layout::Memory(cells.into()), names, notes))
    }

    /// The table that a reader gives, such as standard input, in any of the formats of [`Source::open`]. Its bytes are kept; `name` is for
    /// messages.
    pub fn read(name: &Path, reader: &mut dyn Read) -> Result<Self> {
        Self::read_with(name, reader, Header::Auto)
    }

    /// The same for a text of which somebody knows whether it has a header, and with other limits of its size.
    pub fn read_with(name: &Path, reader: &mut dyn Read, options: impl Into<ReadOptions>) -> Result<Self> {
        Self::of(Content::read(name, reader)?, options.into())
    }

    /// The table that these bytes are.
    fn of(content: Content, options: ReadOptions) -> Result<Self> {
        let ReadOptions { header, limits } = options;
        let content = content.within(limits);
        let (path, mut notes) = (content.path(), Vec::new());
        let (layout, mut names) = match detect::format(&content)? {
            format @ (Format::Text | Format::Gzip) => {
                let gzip = format == Format::Gzip;
                let sample = Sample::read(path, &mut text::open(&content, gzip)?, content.limits())?;
                if let Some(inside) = detect::binary(|magic| gzip && sample.starts_with(magic)) {
                    let what = format!("the file is {inside} compressed with gzip");
                    return Err(Error::Unsupported { path: path.into(), what, advice: "decompress it first".into() });
                }
                let (dialect, names, found) = dialect::detect(path, &sample, gzip, header)?;
                notes = found;
                (Layout::Text(dialect), names)
            }
            Format::Parquet => (Layout::Parquet, parquet::names(&content)?),
            Format::Npy => (Layout::Npy, npy::names(&content)?),
            Format::Zip => (Layout::Npz, npz::names(&content)?),
        };
        limits.check_columns(path, names.len())?;
        notes.extend(names::make_distinct(&mut names));
        Ok(Self::of_layout(content, layout, names, notes))
    }

    /// How large the table may be, and how many bytes its file has; `None` for columns in memory, which are there already.
    pub(super) fn limits(&self) -> Option<(TableLimits, u64)> {
        match &self.layout {
            Layout::Memory(_) => None,
            Layout::Several(parts) => Some((self.content.limits(), several::length(parts))),
            Layout::Text(_) | Layout::Parquet | Layout::Npy | Layout::Npz => {
                Some((self.content.limits(), self.content.length()))
            }
        }
    }

    /// The names of the columns, all different.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns that `asked` names: with commas between them, one name may be several, unless a column is called so.
    pub fn named(&self, asked: &[String]) -> Vec<String> {
        names::several(&self.names, asked)
    }

    /// The file, or what a table in memory is called.
    pub fn path(&self) -> &Path {
        self.content.path()
    }

    /// What opening the file found worth knowing.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Whether the names are but positions: `c1`, `c2`, ….
    pub fn is_unnamed(&self) -> bool {
        match &self.layout {
            Layout::Text(dialect) => !dialect.header,
            Layout::Several(parts) => parts.iter().all(|part| part.source().is_unnamed()),
            Layout::Npy => true,
            Layout::Parquet | Layout::Npz | Layout::Memory(_) => false,
        }
    }

    /// Whether it is delimited text.
    pub(super) fn is_text(&self) -> bool {
        match &self.layout {
            Layout::Several(parts) => parts.iter().any(|part| part.source().is_text()),
            layout => matches!(layout, Layout::Text(_)),
        }
    }

    /// Whether a comma is the decimal mark of a text's numbers.
    pub(super) fn decimal_comma(&self) -> bool {
        match &self.layout {
            Layout::Text(dialect) => dialect.decimal_comma(),
            Layout::Several(parts) => parts.iter().any(|part| part.source().decimal_comma()),
            Layout::Parquet | Layout::Npy | Layout::Npz | Layout::Memory(_) => false,
        }
    }

    /// The records from the first one on; words that stand for nothing are missing cells.
    pub fn rows(&self) -> Result<Box<dyn Rows>> {
        self.rows_written(vec![true; self.names.len()], Writings::plain(self, None))
    }

    /// The records for somebody who looks at some columns only and knows how they are written.
    pub(super) fn rows_written(&self, used: Vec<bool>, writings: Writings) -> Result<Box<dyn Rows>> {
        Ok(Box::new(TranslatedRows { rows: self.rows_using(used)?, writings }))
    }

    /// The records as they are written, for somebody who looks at some columns only: what the others hold must not stop them.
    pub(super) fn rows_using(&self, used: Vec<bool>) -> Result<Box<dyn Rows>> {
        let (lines, groups) = match &self.portion {
            Portion::Whole => (None, None),
            Portion::Lines(lines) => (Some(lines), None),
            Portion::Groups(groups) => (None, Some(groups)),
            Portion::Nothing => return Ok(Box::new(NoRecords)),
        };
        Ok(match &self.layout {
            Layout::Text(dialect) => Box::new(text::TextRows::new(&self.content, *dialect, used, lines)?),
            Layout::Parquet => Box::new(parquet::ParquetRows::new(&self.content, &self.names, groups)?),
            Layout::Npy => npy::rows(&self.content, self.names.len())?,
            Layout::Npz => npz::rows(&self.content, &self.names)?,
            Layout::Memory(columns) => Box::new(MemoryRows::new(columns)),
            Layout::Several(parts) => Box::new(SeveralRows::new(parts, used)),
        })
    }

    /// Fails if the file has changed since it was opened, unless its bytes are kept.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        match &self.layout {
            Layout::Several(parts) => several::check_unchanged(parts),
            _ => self.content.check_unchanged(),
        }
    }

    /// Where a record with this number is.
    pub fn place(&self, number: u64) -> Place {
        match &self.layout {
            Layout::Several(parts) => several::place(parts, number),
            Layout::Text(_) => Place::Line(number),
            Layout::Parquet | Layout::Npy | Layout::Npz | Layout::Memory(_) => Place::Row(number),
        }
    }

    /// The SHA-256 digest of the file's bytes in hexadecimal; of several files, that of their digests; of a table in memory, that of its names and
    /// cells.
    pub fn sha256(&self) -> Result<String> {
        match &self.layout {
            Layout::Memory(columns) => return Ok(memory::sha256(&self.names, columns)),
            Layout::Several(_) | Layout::Text(_) | Layout::Parquet | Layout::Npy | Layout::Npz => {}
        }
        let files: Vec<&Content> = self.files().map(|file| &file.content).collect();
        let digests = digest::of_files(&*self.processes, &files)?;
        match &digests[..] {
            [only] => Ok(only.clone()),
            all => Ok(digest::hexadecimal(all.iter().fold(Sha256::new(), |digest, own| digest.chain_update(own)))),
        }
    }
}

/// The records of a file that a process reads nothing of.
struct NoRecords;

impl Rows for NoRecords {
    fn next(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>> {
        cells.clear();
        Ok(None)
    }

    fn written(&self, _: usize) -> std::borrow::Cow<'_, str> {
        "".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Schema, Wanted};

    #[test]
    fn a_file_beyond_the_limit_is_read_anew_by_each_pass() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let wanted = Wanted { targets: vec!["y".into()], ..Wanted::default() };
        let levels_and_digest = |source: &Source| {
            let (schema, _) = Schema::scan(source, &wanted).unwrap();
            (schema.feature_names(), source.sha256().unwrap())
        };
        for (limit, kept) in [(20, true), (19, false)] {
            std::fs::write(&path, "x,y\nred,1\nred,2\n").unwrap();
            let before = levels_and_digest(&Source::open(&path).unwrap());
            std::fs::write(&path, "x,y\nred,1\nblue,2\n\n\n\n").unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().len(), 20);
            let source = Source::of(Content::open(&path, limit).unwrap(), ReadOptions::default()).unwrap();
            let opened = levels_and_digest(&source);
            assert_eq!(opened.0, ["x=blue", "x=red"]);
            std::fs::write(&path, "x,y\nred,1\nred,2\n").unwrap();
            assert_eq!(levels_and_digest(&source), if kept { opened } else { before });
        }
    }
}
