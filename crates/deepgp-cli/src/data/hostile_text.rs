//! Whatever comes in place of a public table, reading it ends with a table or with an error.

use super::table::Table;
use super::unpack;
use crate::mutation::Mutator;

const ARFF: &str = "% a comment\n@relation 'an arm'\n@attribute theta1 real\n@attribute 'the angle' numeric\n\
    @attribute \"y\" REAL\n@data\n1.50e-02, 3.0e+00,-2\n\n% rows\n1.2e-5,2,7\n3,4,5\n";

#[test]
fn mutations_of_a_table_are_tables_or_errors() {
    let csv = Table::parse(ARFF).unwrap().to_csv();
    let mut read = 0;
    for seed in 0..40_000 {
        let begin = if seed % 2 == 0 { ARFF } else { &csv };
        let bytes = Mutator::new(seed).mutate(begin.as_bytes(), ARFF.as_bytes());
        let Ok(text) = unpack::text(&bytes, "a.arff") else { continue };
        let Ok(table) = Table::parse(&text) else { continue };
        read += 1;
        let names: Vec<(&str, &str)> = table.names.iter().map(|name| (name.as_str(), name.as_str())).collect();
        let Ok(arranged) = table.arranged(&names) else { continue };
        assert_eq!((arranged.rows(), arranged.values.len()), (table.rows(), table.rows() * table.names.len()));
        assert!(arranged.values.iter().all(|value| value.is_finite()) && !arranged.sha256().is_empty());
    }
    assert!(read > 1000, "{read}");
}

#[test]
fn a_head_without_columns_is_refused() {
    for text in ["@relation r\n@data\n", "@relation r\n@data\n1,2\n"] {
        assert!(Table::parse(text).is_err(), "{text}");
    }
}
