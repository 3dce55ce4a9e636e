//! A reader of the oracle files: NumPy arrays in a zip archive without compression (`numpy.savez`).

use std::collections::BTreeMap;

use deepgp::Mat;

/// An array: its shape and its numbers, row-major. Text arrays come out empty.
#[derive(Clone, Debug)]
pub struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

/// The arrays of an archive, by name.
#[derive(Clone, Debug)]
pub struct Arrays(BTreeMap<String, Array>);

impl Arrays {
    pub fn get(&self, name: &str) -> &Array {
        self.0.get(name).unwrap_or_else(|| panic!("the oracle file has no `{name}`"))
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub fn scalar(&self, name: &str) -> f64 {
        self.get(name).values[0]
    }

    /// A matrix; a vector becomes a column, a stack `[P, M, M]` becomes `[P · M, M]`.
    pub fn mat(&self, name: &str) -> Mat {
        let Array { shape, values } = self.get(name);
        let cols = if shape.len() < 2 { 1 } else { shape[shape.len() - 1] };
        Mat::from_vec(values.len() / cols, cols, values.clone()).unwrap()
    }
}

/// Every array of the archive.
pub fn read(bytes: &[u8]) -> Arrays {
    let u16_at = |at: usize| usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()));
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    // The end record points at the central directory, which lists every member.
    let end = (0..=bytes.len() - 22).rev().find(|&at| &bytes[at..at + 4] == b"PK\x05\x06").expect("a zip archive");
    let (members, mut at) = (u16_at(end + 10), u32_at(end + 16));
    let mut arrays = BTreeMap::new();
    for _ in 0..members {
        assert_eq!(u16_at(at + 10), 0, "members must be stored, not compressed");
        let (size, name_len, local) = (u32_at(at + 24), u16_at(at + 28), u32_at(at + 42));
        let name = std::str::from_utf8(&bytes[at + 46..at + 46 + name_len]).unwrap();
        let start = local + 30 + u16_at(local + 26) + u16_at(local + 28);
        arrays.insert(name.trim_end_matches(".npy").to_string(), array(&bytes[start..start + size]));
        at += 46 + name_len + u16_at(at + 30) + u16_at(at + 32);
    }
    Arrays(arrays)
}

fn array(npy: &[u8]) -> Array {
    assert_eq!(&npy[..6], b"\x93NUMPY");
    let header_len = usize::from(u16::from_le_bytes([npy[8], npy[9]]));
    let header = std::str::from_utf8(&npy[10..10 + header_len]).unwrap();
    assert!(header.contains("'fortran_order': False"), "{header}");
    let inside = |open: &str, close: char| {
        let from = header.find(open).unwrap() + open.len();
        &header[from..from + header[from..].find(close).unwrap()]
    };
    let shape = inside("'shape': (", ')').split(',').filter_map(|n| n.trim().parse().ok()).collect();
    let words = npy[10 + header_len..].chunks_exact(8).map(|w| <[u8; 8]>::try_from(w).unwrap());
    let values = match inside("'descr': '", '\'') {
        "<f8" => words.map(f64::from_le_bytes).collect(),
        "<i8" => words.map(|w| i64::from_le_bytes(w) as f64).collect(),
        _ => Vec::new(),
    };
    Array { shape, values }
}
