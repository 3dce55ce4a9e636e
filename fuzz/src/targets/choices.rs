//! Choices made by bytes: what lets a fuzzer, which knows bytes alone, choose a model and a table.

/// Bytes that make one choice after the other. When there are none left, every choice is the first one.
pub struct Choices<'a> {
    left: &'a [u8],
}

impl<'a> Choices<'a> {
    /// The choices that these bytes make.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.left.split_first() else { return 0 };
        self.left = rest;
        *first
    }

    /// A number from 0 to below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number: mostly of a common size, now and then zero, a repetition's `1`, or as large or small as data may be.
    pub fn number(&mut self) -> f64 {
        let kind = self.byte();
        let fraction = f64::from(i16::from_le_bytes([self.byte(), self.byte()])) / 8192.0;
        match kind % 16 {
            0 => 0.0,
            1 => 1.0,
            2 => fraction * 10f64.powi(i32::from(self.byte() as i8)),
            3 => fraction * 1e-9,
            _ => fraction,
        }
    }
}
