//! Whether kernels are declared in Rust as they are in CUDA C: names, order and types of their parameters, and of the fields of structs
//! that both sides share. A drift between the two fails here, without a GPU.

use super::{COMMON, COVARIANCE, DATA_TERM, DIAGONAL, EXCHANGE, FACTOR, MATRIX, OPTIMISER, RESIDENT, ROWS, SYMMETRIC};
use crate::kernels::common::{Control, Step};
use crate::kernels::{covariance, data_term, diagonal, exchange, factor, matrix, optimiser, resident, rows, symmetric};
use crate::launch::Declaration;
use crate::launch::argument::Kind;

/// A name and its type, as text has it: `double`, or `double *` for a pointer.
type Declared = (String, String);

/// `text` without comments.
fn without_comments(text: &str) -> String {
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// `const double *__restrict__ a` as (`a`, `double *`).
fn declared(text: &str) -> Declared {
    let spaced = text.replace('*', " * ");
    let mut words: Vec<&str> =
        spaced.split_whitespace().filter(|word| !matches!(*word, "const" | "__restrict__")).collect();
    let name = words.pop().expect("a declaration has a name");
    // Tests declare kernels with rows in `float`.
    let kind: Vec<&str> = words.into_iter().map(|word| if word == "REAL" { "float" } else { word }).collect();
    (name.into(), kind.join(" "))
}

/// Every `extern "C" __global__ void name(parameters)` of a text.
fn parse_kernels(text: &str) -> Vec<(String, Vec<Declared>)> {
    let text = without_comments(text);
    let heads = text.split("extern \"C\" __global__").skip(1);
    heads
        .map(|rest| {
            let head = rest.split('{').next().unwrap_or_default().trim().trim_end_matches(')');
            // Attributes have parentheses of their own; the last to open is that of the parameters.
            let (before, parameters) = head.rsplit_once('(').expect("a kernel has parameters");
            let name = before.split_whitespace().last().expect("a kernel has a name");
            (name.to_string(), parameters.split(',').map(declared).collect())
        })
        .collect()
}

/// The fields of `struct name { … };` of a text.
fn parse_struct(text: &str, name: &str) -> Vec<Declared> {
    let text = without_comments(text);
    let (_, rest) = text.split_once(&format!("struct {name} {{")).expect("the struct is there");
    let body = rest.split('}').next().unwrap_or_default();
    body.split(';').filter(|field| !field.trim().is_empty()).map(declared).collect()
}

/// Parameters or fields as Rust declares them.
fn in_rust(parameters: &[(&str, Kind)]) -> Vec<Declared> {
    let kind = |kind: Kind| match kind {
        Kind::Value(name) => name.to_string(),
        Kind::Pointer(name) => format!("{name} *"),
    };
    parameters.iter().map(|(name, of)| ((*name).to_string(), kind(*of))).collect()
}

/// Kernels of a file in Rust, beside its CUDA text.
const FILES: [(&[Declaration], &str); 10] = [
    (factor::KERNELS, FACTOR),
    (resident::KERNELS, RESIDENT),
    (diagonal::KERNELS, DIAGONAL),
    (matrix::KERNELS, MATRIX),
    (symmetric::KERNELS, SYMMETRIC),
    (rows::KERNELS, ROWS),
    (optimiser::KERNELS, OPTIMISER),
    (exchange::KERNELS, EXCHANGE),
    (covariance::KERNELS, COVARIANCE),
    (data_term::KERNELS, DATA_TERM),
];

#[test]
fn every_kernel_is_declared_as_its_cuda_signature_says() {
    for (declarations, text) in FILES {
        let parsed = parse_kernels(text);
        for (name, parameters) in &parsed {
            let found = declarations.iter().find(|declaration| declaration.name == name);
            let declaration = found.unwrap_or_else(|| panic!("`{name}` is not declared in Rust"));
            assert_eq!(&in_rust(declaration.parameters), parameters, "{name}");
        }
        let missing = declarations.iter().find(|own| !parsed.iter().any(|(name, _)| name == own.name));
        assert!(missing.is_none(), "{missing:?} is not in the CUDA text");
    }
}

#[test]
fn shared_structs_have_the_fields_of_their_cuda_text() {
    assert_eq!(in_rust(Step::FIELDS), parse_struct(COMMON, "Step"));
    assert_eq!(in_rust(Control::FIELDS), parse_struct(COMMON, "Control"));
}

#[test]
fn a_signature_is_read_with_its_attributes_and_a_swapped_pair_is_told() {
    let text = "// nothing(int a)\nextern \"C\" __global__ void __launch_bounds__(WARP *8, 2)\n    scale(const REAL *__restrict__ \
                from, unsigned char *to, // where (it) goes\n int n, double by) {\n}";
    let own = |name: &str, kind: &str| (name.to_string(), kind.to_string());
    let expected = vec![own("from", "float *"), own("to", "unsigned char *"), own("n", "int"), own("by", "double")];
    assert_eq!(parse_kernels(text), [("scale".to_string(), expected.clone())]);
    let kinds = [("from", Kind::Pointer("float")), ("to", Kind::Pointer("unsigned char"))];
    let swapped = [("n", Kind::Value("int")), ("by", Kind::Value("double"))];
    assert_eq!(in_rust(&[kinds[0], kinds[1], swapped[0], swapped[1]]), expected);
    assert_ne!(in_rust(&[kinds[1], kinds[0], swapped[0], swapped[1]]), expected);
    assert_ne!(in_rust(&[kinds[0], kinds[1], swapped[1], swapped[0]]), expected);
}
