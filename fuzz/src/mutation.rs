//! Seeded mutations of bytes: what the fuzzer does, without its coverage, for tests that run everywhere.

/// A stream of pseudo-random numbers, by xorshift: the same seed gives the same mutations everywhere.
pub struct Mutator {
    state: u64,
}

/// Bytes and words at which readers turn: ends of ranges, signs, quotes, delimiters, and what numbers and dates are made of.
const TURNS: [&[u8]; 28] = [
    b"\x00",
    b"\x01",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80",
    b"\xff\xff\xff\x7f",
    b"\n",
    b"\r\n",
    b"\"",
    b"'",
    b",",
    b";",
    b"\t",
    b"-",
    b".",
    b"1e999",
    b"nan",
    b"-0",
    b"9999999999999999999",
    b"2024-02-30",
    b"true",
    b"NA",
    b"null",
    b"{",
    b"[",
    b"\xef\xbb\xbf",
];

impl Mutator {
    /// The mutations of this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// A number from 0 to below `count`, which is not 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.next() >> 11) as usize % count
    }

    /// `bytes` after one to four changes, some of which take pieces from `other`.
    pub fn mutate(&mut self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, other);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        let magnitude = self.below(8);
        let length = 1 + self.below(1 << magnitude);
        let end = (at + length).min(bytes.len());
        match self.below(8) {
            0 if at < end => bytes[at] ^= 1 << self.below(8),
            1 if at < end => bytes[at] = self.next() as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = self.below(bytes.len() + 1);
                drop(bytes.splice(to..to, piece));
            }
            4 => {
                let turn = TURNS[self.below(TURNS.len())];
                let over = if self.below(2) == 0 { at } else { (at + turn.len()).min(bytes.len()) };
                drop(bytes.splice(at..over, turn.iter().copied()));
            }
            5 if !other.is_empty() => {
                let from = self.below(other.len());
                let piece = &other[from..(from + length).min(other.len())];
                drop(bytes.splice(at..end, piece.iter().copied()));
            }
            6 => bytes.truncate(at),
            _ => {
                // A digit for another, where there is one: sizes, shapes and counts in text.
                if let Some(digit) = bytes[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
                    *digit = b'0' + self.below(10) as u8;
                }
            }
        }
    }
}
