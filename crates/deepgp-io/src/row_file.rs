//! A file of rows as numbers, to train on where they do not fit in memory: records of one length, any of which is read where it stands.
//!
//! ```text
//! record   x_1 … x_D   y_1 … y_P   offset, if there is one        each a little-endian `f64`
//! ```
//!
//! The file is a temporary one. Where the system lets a file that is open go without a name, it loses its name as soon as it is made: it is
//! gone when its process is, however that ends. Elsewhere it is removed when it is dropped, and one that was left is recognised by its name and its
//! lock, and removed before the next.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread;

use deepgp::{Dataset, RowStore};

use crate::atomic::temporary;

/// The bytes of a number.
const NUMBER: usize = 8;
/// Records that are so many bytes apart, or fewer, are read together.
const GAP: u64 = 4096;
/// The most bytes that are read together.
const AT_ONCE: u64 = 1 << 20;
/// Rows that are farther apart, on average, are read by so many threads: where the file is not in the system's cache, each has to be waited for.
const READERS: usize = 8;
/// The bytes that are written at once.
const BUFFER: usize = 1 << 20;

/// A row file that is being written.
#[derive(Debug)]
pub struct RowFileWriter {
    writer: BufWriter<File>,
    name: TemporaryName,
    inputs: usize,
    targets: usize,
    offsets: bool,
    rows: usize,
}

impl RowFileWriter {
    /// A file for rows of so many inputs and targets, with or without offsets, in the folder of `path` and with a name like that of `path`.
    pub fn create(path: &Path, inputs: usize, targets: usize, offsets: bool) -> io::Result<Self> {
        temporary::sweep(path);
        let (file, name) = temporary::create(path, true)?;
        let name = TemporaryName(Some(name)).without_if_possible();
        Ok(Self { writer: BufWriter::with_capacity(BUFFER, file), name, inputs, targets, offsets, rows: 0 })
    }

    /// The bytes of a file of so many rows.
    pub fn bytes(rows: u64, inputs: usize, targets: usize, offsets: bool) -> u64 {
        rows.saturating_mul((NUMBER * (inputs + targets + usize::from(offsets))) as u64)
    }

    /// Adds rows, which have as many inputs and targets as all.
    pub fn add(&mut self, data: &Dataset) -> io::Result<()> {
        let widths = (data.x().ncols(), data.y().ncols(), data.offsets().is_some());
        if widths != (self.inputs, self.targets, self.offsets) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "rows of another width"));
        }
        for row in 0..data.len() {
            let offset = data.offsets().map(|all| &all[row]);
            for number in data.x().row(row).iter().chain(data.y().row(row)).chain(offset) {
                self.writer.write_all(&number.to_le_bytes())?;
            }
        }
        self.rows += data.len();
        Ok(())
    }

    /// The rows that were added, to read.
    pub fn finish(self) -> io::Result<RowFile> {
        let Self { writer, name, inputs, targets, offsets, rows } = self;
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(RowFile { file, _name: name, inputs, used: (0..inputs).collect(), targets, offsets, rows })
    }
}

/// The name of a temporary file, which goes with it.
#[derive(Debug)]
struct TemporaryName(Option<PathBuf>);

impl TemporaryName {
    /// Removes the name at once where the file stays without it.
    fn without_if_possible(mut self) -> Self {
        if cfg!(unix) && self.0.as_ref().is_some_and(|name| std::fs::remove_file(name).is_ok()) {
            self.0 = None;
        }
        self
    }
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        if let Some(name) = &self.0 {
            // There is nothing to be done if this fails: the next one sweeps it.
            let _ = std::fs::remove_file(name);
        }
    }
}

/// Rows in a file, read by any number of threads.
#[derive(Debug)]
pub struct RowFile {
    file: File,
    /// Dropped after the file.
    _name: TemporaryName,
    /// The inputs in the file.
    inputs: usize,
    /// Those of them that are read.
    used: Vec<usize>,
    targets: usize,
    offsets: bool,
    rows: usize,
}

impl RowFile {
    /// The same rows without some of their inputs.
    pub fn without_inputs(mut self, left_out: &[usize]) -> Self {
        let used = std::mem::take(&mut self.used);
        self.used = used.into_iter().enumerate().filter(|(at, _)| !left_out.contains(at)).map(|(_, own)| own).collect();
        self
    }

    /// The bytes of a record.
    fn record(&self) -> u64 {
        RowFileWriter::bytes(1, self.inputs, self.targets, self.offsets)
    }

    /// The numbers of a record that are read, by their places in it.
    fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.used.iter().copied().chain(self.inputs..self.inputs + self.targets + usize::from(self.offsets))
    }
}

impl RowStore for RowFile {
    fn rows(&self) -> usize {
        self.rows
    }

    fn inputs(&self) -> usize {
        self.used.len()
    }

    fn targets(&self) -> usize {
        self.targets
    }

    fn has_offsets(&self) -> bool {
        self.offsets
    }

    fn read(&self, rows: &[u32], numbers: &mut [f64]) -> io::Result<()> {
        let span = rows.last().zip(rows.first()).map_or(0, |(last, first)| u64::from(last - first) * self.record());
        if rows.len() < READERS || span / (rows.len() as u64) < GAP {
            return self.read_one_by_one(rows, numbers);
        }
        // A disk answers several at once sooner than one after the other.
        let each = rows.len().div_ceil(READERS);
        let width = numbers.len() / rows.len();
        thread::scope(|scope| {
            let parts = rows.chunks(each).zip(numbers.chunks_mut(each * width));
            let readers: Vec<_> =
                parts.map(|(rows, numbers)| scope.spawn(|| self.read_one_by_one(rows, numbers))).collect();
            let join = |reader: thread::ScopedJoinHandle<'_, io::Result<()>>| {
                reader.join().unwrap_or_else(|_| Err(io::Error::other("a reader of rows has ended")))
            };
            readers.into_iter().try_for_each(join)
        })
    }
}

impl RowFile {
    /// Reads rows on this thread.
    fn read_one_by_one(&self, rows: &[u32], numbers: &mut [f64]) -> io::Result<()> {
        let (record, mut bytes, mut to) = (self.record(), Vec::new(), numbers.iter_mut());
        let start = |row: u32| u64::from(row) * record;
        let mut left = rows;
        while let Some(first) = left.first() {
            // As long as the next record is near, it is cheaper to read what is between than to read twice.
            let near = |pair: &[u32]| {
                start(pair[1]) - start(pair[0]) <= record + GAP && start(pair[1]) - start(*first) < AT_ONCE
            };
            let together = 1 + left.windows(2).take_while(|pair| near(pair)).count();
            let (own, rest) = left.split_at(together);
            bytes.resize((start(own[together - 1]) - start(*first) + record) as usize, 0);
            read_exact_at(&self.file, &mut bytes, start(*first))?;
            for row in own {
                let at = (start(*row) - start(*first)) as usize;
                for (place, to) in self.places().zip(&mut to) {
                    let number = &bytes[at + NUMBER * place..at + NUMBER * (place + 1)];
                    *to = f64::from_le_bytes(number.try_into().expect("a number has eight bytes"));
                }
            }
            left = rest;
        }
        Ok(())
    }
}

/// Reads from a place in a file, whoever else reads it meanwhile.
#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
}

/// Reads from a place in a file, whoever else reads it meanwhile.
#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => (bytes, at) = (&mut bytes[read..], at + read as u64),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use deepgp::Mat;

    use super::*;

    fn data(rows: usize, first: usize) -> Dataset {
        let x = Mat::from_fn(rows, 3, |i, j| (first + i) as f64 + 0.1 * j as f64);
        Dataset::new(x, Mat::from_fn(rows, 1, |i, _| -((first + i) as f64))).unwrap()
    }

    #[test]
    fn rows_come_back_to_the_bit_wherever_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = RowFileWriter::create(&folder.path().join("x.rows"), 3, 1, false).unwrap();
        for first in (0..9000).step_by(1000) {
            writer.add(&data(1000, first)).unwrap();
        }
        assert!(writer.add(&data(1, 0).with_offsets(vec![1.0]).unwrap()).is_err());
        let file = writer.finish().unwrap();
        assert_eq!(file.file.metadata().unwrap().len(), RowFileWriter::bytes(9000, 3, 1, false));
        let all = data(9000, 0);
        let expected = |rows: &[u32], inputs: &[usize]| -> Vec<f64> {
            let row = |row: &u32| {
                let row = *row as usize;
                inputs.iter().map(move |j| row as f64 + 0.1 * *j as f64).chain([-(row as f64)]).collect::<Vec<_>>()
            };
            assert_eq!(all.x().row(7), [7.0, 7.1, 7.2]);
            rows.iter().flat_map(row).collect()
        };
        // Read together, each by itself, and by several threads.
        let far: Vec<u32> = (0..9000).step_by(211).collect();
        let whole: Vec<u32> = (0..9000).collect();
        for rows in [&[][..], &[0], &[8999], &[3, 4, 5, 400, 401, 8999], &far, &whole] {
            let mut numbers = vec![0.0; 4 * rows.len()];
            file.read(rows, &mut numbers).unwrap();
            assert_eq!(numbers, expected(rows, &[0, 1, 2]));
        }
        assert!(file.read(&[9000], &mut [0.0; 4]).is_err());
        let fewer = file.without_inputs(&[1]);
        let mut numbers = vec![0.0; 3 * far.len()];
        fewer.read(&far, &mut numbers).unwrap();
        assert_eq!((numbers, fewer.inputs()), (expected(&far, &[0, 2]), 2));
        let fewer = fewer.without_inputs(&[0]);
        fewer.read(&far, &mut vec![0.0; 2 * far.len()]).unwrap();
        assert_eq!(fewer.used, [2]);
    }

    #[test]
    fn the_file_goes_with_its_process_and_what_is_left_of_one_goes_with_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.rows");
        // As another system, or a kill between two calls, would leave it.
        std::fs::write(folder.path().join(".x.rows.1-0.tmp"), "rows").unwrap();
        std::fs::write(folder.path().join("x.rows"), "of somebody else").unwrap();
        let names = || std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect::<Vec<_>>();
        let mut writer = RowFileWriter::create(&path, 3, 1, false).unwrap();
        writer.add(&data(10, 0)).unwrap();
        assert_eq!(names().len(), if cfg!(unix) { 1 } else { 2 }, "{:?}", names());
        let file = writer.finish().unwrap();
        file.read(&[9], &mut [0.0; 4]).unwrap();
        drop(file);
        assert_eq!(names(), ["x.rows"], "what is no row file stays");
    }
}
