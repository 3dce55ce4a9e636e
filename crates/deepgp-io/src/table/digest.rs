//! The digest of files: SHA-256 of their bytes, in hexadecimal. Several processes each go through their share of the bytes, one after the other, and
//! hand on what they have so far, which is some hundred bytes.

use std::io::{BufRead, Read, Seek, SeekFrom};
use std::ops::Range;

use deepgp::backend::Communicator;
use sha2::digest::common::hazmat::SerializableState;
use sha2::{Digest, Sha256};

use super::content::Content;
use super::cut::Shares;
use crate::error::{Error, Result};

/// The digest of each file.
pub(super) fn of_files(processes: &dyn Communicator, files: &[&Content]) -> Result<Vec<String>> {
    let shares = Shares::new(files.iter().copied(), processes.size());
    let of_file = |number: usize| {
        let mut digest = Sha256::new();
        for rank in 0..processes.size() {
            let share = shares.of(number, rank);
            if share.is_empty() {
                continue;
            }
            let own = if rank == processes.rank() { add(&mut digest, files[number], share) } else { Ok(()) };
            if processes.size() > 1 {
                processes.all_fine(own)?;
                digest = handed_on(processes, &digest, rank)?;
            } else {
                own?;
            }
        }
        Ok(hexadecimal(digest))
    };
    (0..files.len()).map(of_file).collect()
}

/// The digest that a process has so far, in all of them.
fn handed_on(processes: &dyn Communicator, own: &Sha256, rank: usize) -> Result<Sha256> {
    let own = own.serialize();
    let all = processes.gather_bytes(if rank == processes.rank() { &own } else { &[] })?;
    let state = all[rank].as_slice().try_into().ok().and_then(|state| Sha256::deserialize(state).ok());
    state.ok_or_else(|| Error::damaged("what another process has read".as_ref(), "it is no digest"))
}

/// Adds some bytes of a file.
fn add(digest: &mut Sha256, content: &Content, share: Range<u64>) -> Result<()> {
    let io = |cause| Error::from_io(content.path(), cause);
    let mut bytes = content.reader()?;
    bytes.seek(SeekFrom::Start(share.start)).map_err(io)?;
    let mut bytes = bytes.take(share.end - share.start);
    loop {
        let piece = bytes.fill_buf().map_err(io)?;
        let length = piece.len();
        if length == 0 {
            return Ok(());
        }
        digest.update(piece);
        bytes.consume(length);
    }
}

/// A finished digest as text.
pub(super) fn hexadecimal(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
