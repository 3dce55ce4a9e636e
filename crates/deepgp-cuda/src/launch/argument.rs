//! What a kernel can be given: numbers by value, and spans of device memory by address.

use crate::device::memory::Span;

/// A type of which arrays stand on the device.
pub trait Element {
    /// Its name in CUDA C.
    const NAME: &'static str;
}

impl Element for f64 {
    const NAME: &'static str = "double";
}

impl Element for f32 {
    const NAME: &'static str = "float";
}

impl Element for i32 {
    const NAME: &'static str = "int";
}

impl Element for u32 {
    const NAME: &'static str = "unsigned";
}

impl Element for u8 {
    const NAME: &'static str = "unsigned char";
}

/// The type of a kernel's parameter, or of a field of a shared struct, in CUDA C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Value(&'static str),
    /// The address of such numbers.
    Pointer(&'static str),
}

/// A value that a kernel takes.
pub trait Argument: Copy {
    /// As what the kernel declares it.
    const KIND: Kind;

    /// Its bytes, the low ones first; a kernel reads as many of them as its parameter has.
    fn word(self) -> u64;
}

impl<T: Element> Argument for Span<T> {
    const KIND: Kind = Kind::Pointer(T::NAME);

    fn word(self) -> u64 {
        self.address()
    }
}

impl Argument for f64 {
    const KIND: Kind = Kind::Value("double");

    fn word(self) -> u64 {
        self.to_bits()
    }
}

impl Argument for u32 {
    const KIND: Kind = Kind::Value("unsigned");

    fn word(self) -> u64 {
        self.into()
    }
}

impl Argument for u64 {
    const KIND: Kind = Kind::Value("unsigned long long");

    fn word(self) -> u64 {
        self
    }
}

impl Argument for i32 {
    const KIND: Kind = Kind::Value("int");

    fn word(self) -> u64 {
        self.cast_unsigned().into()
    }
}

/// Kernels take counts as `int`.
impl Argument for usize {
    const KIND: Kind = Kind::Value("int");

    fn word(self) -> u64 {
        i32::try_from(self).expect("counts were checked to fit").cast_unsigned().into()
    }
}

/// Kernels take flags as `int`.
impl Argument for bool {
    const KIND: Kind = Kind::Value("int");

    fn word(self) -> u64 {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::memory::Arena;

    #[test]
    fn numbers_stand_in_the_low_bytes_and_spans_are_their_address() {
        assert_eq!((7usize.word(), true.word(), u32::MAX.word()), (7, 1, 0xffff_ffff));
        assert_eq!(1.5f64.word(), 1.5f64.to_bits());
        let span: Span<f32> = Arena::new(4096).take(8);
        assert_eq!((span.from(3).word(), <Span<f32>>::KIND), (4108, Kind::Pointer("float")));
        assert_eq!(Span::<f64>::NONE.word(), 0);
    }
}
