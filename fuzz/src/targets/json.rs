//! Rows as a program sends them to `deepgp serve`: JSON objects for a model of columns of every kind.

use std::path::Path;
use std::sync::OnceLock;

use deepgp_io::table::{Missing, Schema, Source, Targets, Wanted};
use serde_json::{Map, Value};

/// The name under which rows are read.
const NAME: &str = "rows";
/// A table with a column of each kind: numbers, categories, dates, truths, and numbers with what people write around them.
const TABLE: &str = "y,number,kind,day,open,price\n1,0.5,a,2024-02-29,true,\"$1,200\"\n2,-3,b,2024-03-01,false,$15\n\
    3,1e3,a,2024-03-02,true,$7.50\n4,,c,2024-03-03,true,$9\n";

fn schema() -> &'static Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let source = Source::read(Path::new("table"), &mut TABLE.as_bytes()).expect("it is a table");
        let wanted = Wanted { targets: vec!["y".into()], missing: Missing::Indicator, ..Wanted::default() };
        Schema::scan(&source, &wanted).expect("it has columns of every kind").0
    })
}

/// A list of rows: each is encoded, or what is wrong with them is an error that names them.
pub fn rows(bytes: &[u8]) {
    let Ok(rows) = serde_json::from_slice::<Vec<Map<String, Value>>>(bytes) else { return };
    let schema = schema();
    let read = || {
        let source = Source::of_json_rows(NAME, schema, &rows)?;
        let (chunk, _) = schema.encoder(&source, Targets::Unneeded)?.read_all()?;
        Ok(chunk)
    };
    match read() {
        Ok(chunk) => {
            assert_eq!((chunk.read as usize, chunk.x.ncols()), (rows.len(), schema.width()));
            assert!(chunk.x.as_slice().iter().all(|value| value.is_finite()), "inputs are finite");
        }
        Err(error) => {
            let error: deepgp_io::Error = error;
            let told = error.to_string();
            assert!(told.starts_with(NAME) && told.len() < 20_000, "an error of {} bytes: {told}", told.len());
        }
    }
}
