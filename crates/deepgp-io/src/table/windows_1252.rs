//! Text in Windows-1252, of which Latin-1 is a part: what programs write that do not write UTF-8.

/// The characters of the bytes 0x80 to 0x9f; elsewhere a byte is the character of its number. Five bytes mean nothing.
const SPECIAL: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“', '”', '•',
    '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// The text of these bytes; `None` if they are no text: some mean nothing, or control a terminal.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let character = |byte: &u8| match *byte {
        b'\t' | b'\n' | b'\r' => Some(char::from(*byte)),
        0x00..0x20 | 0x7f => None,
        byte @ 0x80..0xa0 => Some(SPECIAL[usize::from(byte - 0x80)]).filter(|character| *character != '\0'),
        byte => Some(char::from(byte)),
    };
    bytes.iter().map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_known_and_other_bytes_are_not() {
        assert_eq!(decode(b"Z\xfcrich;\x80 5\x85\r\n").unwrap(), "Zürich;€ 5…\r\n");
        for bytes in [&b"\x81"[..], b"\xfc\0", b"\xe9\x1b[31m", b"\x9d"] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
    }
}
