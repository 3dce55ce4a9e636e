//! Which records each of several processes reads: those of its share of the bytes.
//!
//! Of `T` bytes in all files, process `r` of `R` has those from `r T / R` to `(r + 1) T / R`, and cuts where records begin:
//!
//! | | what is not cut | who reads it |
//! |---|---|---|
//! | Parquet | a row group | who has the middle of it |
//! | text | a record | who has the first byte of its first line |
//! | gzip, `.npy`, `.npz` | the file | who has the middle of it |
//!
//! A line of text begins a record unless a quote is open, which depends on all lines before. So each process first goes through its own
//! *stretch* of lines, and counts them, as if no quote were open at its beginning and as if one were ([`Stretch`]). What all have found says which of
//! the two it was, and in which line of the file each record is: [`lines`]. No process looks at the bytes of another, but for the rest of a line.

use std::io::{BufRead, Read, Seek, SeekFrom};
use std::ops::Range;

use deepgp::backend::Communicator;
use serde::{Deserialize, Serialize};

use super::content::Content;
use super::csv::{LONGEST_RECORD, is_open_behind};
use super::parquet;
use super::together::together;
use crate::error::{Error, Result};

/// The records of a file that a process reads.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Portion {
    /// All of them.
    Whole,
    /// None of them.
    Nothing,
    /// Those of some lines.
    Lines(Lines),
    /// Those of some row groups.
    Groups(Groups),
}

/// Lines of a text in which whole records are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lines {
    /// The first byte, and the first one behind them.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The number of lines before them.
    pub(super) before: u64,
}

/// Row groups of a Parquet file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Groups {
    /// Their numbers, from 0.
    pub(super) numbers: Range<usize>,
    /// The number of rows before them.
    pub(super) before: u64,
}

/// How a file can be cut.
#[derive(Clone, Copy, Debug)]
pub(super) enum Joints {
    /// Between records of text with this delimiter.
    Records(char),
    /// Between row groups.
    Groups,
    /// Nowhere.
    None,
}

/// What this process reads of each of these files.
pub(super) fn portions(processes: &dyn Communicator, files: &[(&Content, Joints)]) -> Result<Vec<Portion>> {
    let shares = Shares::new(files.iter().map(|(content, _)| *content), processes.size());
    let rank = processes.rank();
    let text = |number: usize| {
        let (content, Joints::Records(delimiter)) = files[number] else { return None };
        let share = shares.of(number, rank);
        (!share.is_empty()).then(|| Stretch::of(content, delimiter, (number, rank), share))
    };
    let stretches: Vec<Stretch> = together(processes, (0..files.len()).filter_map(text).collect())?;
    let portion = |(number, (content, joints)): (usize, &(&Content, Joints))| {
        let share = shares.of(number, rank);
        Ok(match joints {
            Joints::Records(_) => {
                let of_file = stretches.iter().filter(|stretch| stretch.file == number);
                lines(of_file, content.length(), rank).map_or(Portion::Nothing, Portion::Lines)
            }
            Joints::Groups => groups(&parquet::row_groups(content)?, content.length(), &share),
            Joints::None if share.contains(&(content.length() / 2)) => Portion::Whole,
            Joints::None => Portion::Nothing,
        })
    };
    files.iter().enumerate().map(portion).collect()
}

/// The bytes of files, dealt out to processes.
pub(super) struct Shares {
    /// The bytes of all files before each, and of all.
    upto: Vec<u64>,
    /// The number of processes.
    size: usize,
}

impl Shares {
    /// As many bytes for each process.
    pub(super) fn new<'a>(files: impl Iterator<Item = &'a Content>, size: usize) -> Self {
        let mut upto = vec![0];
        upto.extend(files.scan(0, |total, content| {
            *total += content.length();
            Some(*total)
        }));
        Self { upto, size }
    }

    /// The bytes of a file that are a process's, by their numbers in the file.
    pub(super) fn of(&self, file: usize, rank: usize) -> Range<u64> {
        let (before, behind) = (self.upto[file], self.upto[file + 1]);
        let total = u128::from(*self.upto.last().expect("there is an end"));
        let cut = |rank: usize| ((rank as u128 * total / self.size as u128) as u64).clamp(before, behind) - before;
        cut(rank)..cut(rank + 1)
    }
}

/// The row groups, of so many rows and bytes each, whose middle is in a share of a file of this length.
fn groups(all: &[(u64, u64)], length: u64, share: &Range<u64>) -> Portion {
    let total: u128 = all.iter().map(|(_, bytes)| u128::from(*bytes)).sum::<u128>().max(1);
    let mut end = 0;
    let middles: Vec<u64> = all
        .iter()
        .map(|(_, bytes)| {
            end += u128::from(*bytes);
            ((end - u128::from(*bytes) / 2) * u128::from(length.saturating_sub(1)) / total) as u64
        })
        .collect();
    let numbers = middles.partition_point(|at| *at < share.start)..middles.partition_point(|at| *at < share.end);
    if numbers.is_empty() {
        return Portion::Nothing;
    }
    let before = all[..numbers.start].iter().map(|(rows, _)| rows).sum();
    Portion::Groups(Groups { numbers, before })
}

/// Lines of a text that one process goes through: those that begin in its share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Stretch {
    /// The numbers of the file and of the process.
    file: usize,
    rank: usize,
    /// The first byte, and the first one behind them.
    from: u64,
    to: u64,
    lines: u64,
    /// Whether a quote is open behind them if none is before them.
    opens: bool,
    /// Whether a quote is still open behind them if one is before them.
    stays_open: bool,
    /// Where the first record then begins: the byte, and the number of lines before it.
    closes: Option<(u64, u64)>,
}

impl Stretch {
    /// Goes through the lines of a file that begin in this share of its bytes.
    fn of(content: &Content, delimiter: char, (file, rank): (usize, usize), share: Range<u64>) -> Result<Self> {
        let io = |cause| Error::from_io(content.path(), cause);
        let mut text = content.reader()?;
        // A line begins behind the end of another.
        text.seek(SeekFrom::Start(share.start.saturating_sub(1))).map_err(io)?;
        let mut at = share.start;
        if at > 0 {
            at += (text.skip_until(b'\n').map_err(io)? as u64).saturating_sub(1);
        }
        let mut own = Self { file, rank, from: at, to: at, lines: 0, opens: false, stays_open: true, closes: None };
        let mut line = Vec::new();
        while at < share.end {
            line.clear();
            let read = text.by_ref().take(LONGEST_RECORD as u64).read_until(b'\n', &mut line).map_err(io)?;
            if read == 0 {
                break;
            }
            let text = if at == 0 { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line) } else { &line };
            own.opens = is_open_behind(text, delimiter, own.opens);
            own.stays_open = is_open_behind(text, delimiter, own.stays_open);
            at += read as u64;
            // A line that is longer than a record may be is told of by whoever reads it.
            if line.ends_with(b"\n") {
                own.lines += 1;
                if !own.stays_open && own.closes.is_none() {
                    own.closes = Some((at, own.lines));
                }
            }
        }
        own.to = at;
        Ok(own)
    }
}

/// The lines whose records a process reads, of a file of this length: those of the records that begin in its stretch, up to the next process's
/// first. `stretches` are those of all processes, in their order.
fn lines<'a>(stretches: impl Iterator<Item = &'a Stretch>, length: u64, rank: usize) -> Option<Lines> {
    let (mut open, mut before, mut begun) = (false, 0, None::<Lines>);
    for stretch in stretches {
        let first = if open { stretch.closes } else { Some((stretch.from, 0)) };
        // A stretch may be no line, or within one cell.
        if let Some((from, lines)) = first.filter(|_| stretch.from < stretch.to) {
            match &mut begun {
                Some(lines) => {
                    lines.to = from;
                    break;
                }
                None if stretch.rank == rank => begun = Some(Lines { from, to: length, before: before + lines }),
                None => {}
            }
        }
        open = if open { stretch.stays_open } else { stretch.opens };
        before += stretch.lines;
    }
    begun.filter(|lines| lines.from < lines.to)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::table::csv::Records;
    use crate::table::limits::TableLimits;

    fn content(text: &str) -> Content {
        Content::read("t.csv".as_ref(), &mut text.as_bytes()).unwrap()
    }

    /// The records of some bytes, each with its line, as far as they can be read.
    fn records(bytes: &[u8], before: u64) -> Vec<(u64, Vec<String>)> {
        let mut records = Records::new(bytes, "t.csv".into(), ',', TableLimits::default()).behind(before);
        let mut all = Vec::new();
        while let Ok(Some(line)) = records.next() {
            all.push((line, records.fields().map(String::from).collect()));
        }
        all
    }

    /// The stretches of so many processes.
    fn stretches(content: &Content, size: usize) -> Vec<Stretch> {
        let shares = Shares::new([content].into_iter(), size);
        let own = (0..size).map(|rank| (rank, shares.of(0, rank))).filter(|(_, share)| !share.is_empty());
        own.map(|(rank, share)| Stretch::of(content, ',', (0, rank), share).unwrap()).collect()
    }

    #[test]
    fn bytes_of_files_are_dealt_out_each_to_one() {
        let files = ["abcdefg", "h", "ijklmnopqrst"].map(content);
        for size in [1, 2, 3, 7, 30] {
            let shares = Shares::new(files.iter(), size);
            for (file, content) in files.iter().enumerate() {
                let cuts: Vec<u64> = (0..size).flat_map(|rank| shares.of(file, rank)).collect();
                assert_eq!(cuts, (0..content.length()).collect::<Vec<_>>(), "{size}");
            }
            let of_rank = |rank: usize| (0..3).map(|file| shares.of(file, rank).count()).sum::<usize>();
            assert!((0..size).all(|rank| of_rank(rank).abs_diff(20 / size) <= 1), "{size}");
        }
    }

    #[test]
    fn row_groups_go_to_who_has_their_middle() {
        let all = [(10, 100), (20, 700), (0, 0), (5, 200)];
        let numbers = |size: u64| -> Vec<Portion> {
            (0..size).map(|rank| groups(&all, 1010, &(rank * 1010 / size..(rank + 1) * 1010 / size))).collect()
        };
        let some = |numbers: Range<usize>, before| Portion::Groups(Groups { numbers, before });
        assert_eq!(numbers(1), [some(0..4, 0)]);
        assert_eq!(numbers(2), [some(0..2, 0), some(2..4, 30)]);
        assert_eq!(numbers(4), [some(0..1, 0), some(1..2, 10), Portion::Nothing, some(2..4, 30)]);
    }

    proptest! {
        #[test]
        fn records_are_those_of_the_whole_wherever_a_text_is_cut(text in "\u{feff}?[ab,\" \n]{1,60}", size in 1usize..9) {
            let content = content(&text);
            let stretches = stretches(&content, size);
            let mut all = Vec::new();
            for rank in 0..size {
                if let Some(Lines { from, to, before }) = lines(stretches.iter(), content.length(), rank) {
                    all.extend(records(&text.as_bytes()[from as usize..to as usize], before));
                }
            }
            prop_assert_eq!(all, records(text.as_bytes(), 0));
        }
    }
}
