//! A graph as the bytes of an ONNX file: the few messages of `onnx.proto` that it takes, written by hand.
//!
//! A message is its fields, one after the other. Each is a key, `number · 8 + wire type`, and a value: a varint (wire type 0), or a length and as many bytes
//! (wire type 2): text, numbers in little-endian order, or a message. That is all of the encoding there is to know here; a code generator and its build
//! step would be more to read than this.

use super::graph::{Attribute, Constant, Entries, Graph, Node};

/// The version of the file format, and that of the operators: as old as `ReduceSum` with axes as a tensor allows, so that old runtimes read it.
const IR_VERSION: u64 = 7;
const OPERATORS_VERSION: u64 = 13;

/// ONNX' numbers for the types of entries.
const DOUBLE: u64 = 11;
const INT64: u64 = 7;
/// ONNX' number for attributes that are whole numbers.
const ATTRIBUTE_INT: u64 = 2;

/// The fields of a message, as bytes.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    /// Adds a whole number.
    fn integer(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    /// Adds bytes.
    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Adds a text.
    fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    /// Adds a message.
    fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    /// Adds a message for each of `all`.
    fn messages<T>(self, field: u64, all: &[T], message: impl Fn(&T) -> Self) -> Self {
        all.iter().fold(self, |own, one| own.message(field, &message(one)))
    }

    /// Seven bits a byte, the lowest first; the highest bit of a byte says that there are more.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// The file: `ModelProto`. Inputs and outputs are matrices of `f64` with as many columns as told.
pub fn model(graph: &Graph, input: (&str, usize), outputs: &[(&str, usize)], facts: &[(&str, String)]) -> Vec<u8> {
    let own = Message::default()
        .messages(1, &graph.nodes, node)
        .text(2, "deepgp")
        .messages(5, &graph.constants, tensor)
        .messages(11, &[input], matrix)
        .messages(12, outputs, matrix);
    let operators = Message::default().text(1, "").integer(2, OPERATORS_VERSION);
    Message::default()
        .integer(1, IR_VERSION)
        .text(2, "deepgp")
        .text(3, env!("CARGO_PKG_VERSION"))
        .message(7, &own)
        .message(8, &operators)
        .messages(14, facts, |(key, value)| Message::default().text(1, key).text(2, value))
        .0
}

/// `NodeProto`.
fn node(node: &Node) -> Message {
    let inputs = node.inputs.iter().fold(Message::default(), |own, input| own.text(1, input));
    let own = inputs.text(2, &node.output).text(3, &node.output).text(4, node.operator);
    node.attribute.iter().fold(own, |own, Attribute::Integer(name, value)| {
        own.message(5, &Message::default().text(1, name).integer(3, *value as u64).integer(20, ATTRIBUTE_INT))
    })
}

/// `TensorProto`.
fn tensor(constant: &Constant) -> Message {
    let shape = constant.shape.iter().fold(Message::default(), |own, length| own.integer(1, *length as u64));
    let (kind, raw): (u64, Vec<u8>) = match &constant.entries {
        Entries::Numbers(all) => (DOUBLE, all.iter().flat_map(|own| own.to_le_bytes()).collect()),
        Entries::Integers(all) => (INT64, all.iter().flat_map(|own| own.to_le_bytes()).collect()),
    };
    shape.integer(2, kind).text(8, &constant.name).bytes(9, &raw)
}

/// `ValueInfoProto` of a matrix with any number of rows, `N`, and so many columns.
fn matrix((name, columns): &(&str, usize)) -> Message {
    let rows = Message::default().text(2, "N");
    let columns = Message::default().integer(1, *columns as u64);
    let shape = Message::default().message(1, &rows).message(1, &columns);
    let tensor = Message::default().integer(1, DOUBLE).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_protocol_has_it() {
        // The examples of the protocol's own documentation.
        assert_eq!(Message::default().integer(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").0, b"\x12\x07testing");
        let inner = Message::default().integer(1, 150);
        assert_eq!(Message::default().message(3, &inner).0, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        // A negative number is as long as can be.
        assert_eq!(Message::default().integer(1, -1_i64 as u64).0.len(), 11);
    }
}
