//! Targets that are classes or counts: how they are recognised, numbered, and refused.

mod common;

use common::{TableFile, Values, fit, names, parquet, target};
use deepgp_io::table::{Schema, TargetKind, Targets, Task, Wanted};
use parquet::basic::Compression;

/// The target `y` of a table with a column `x` and these cells, for this task, and the sentences of the notes.
fn seen(cells: &[&str], task: Task) -> Result<(TargetKind, Vec<f64>, Vec<String>), String> {
    let rows: String = cells.iter().enumerate().map(|(i, cell)| format!("{}.5,{cell}\n", i * i)).collect();
    match fit(format!("x,y\n{rows}"), &Wanted { task, ..target("y") }) {
        Ok((schema, chunk, notes)) => Ok((schema.target_kind, chunk.y.unwrap().as_slice().to_vec(), notes)),
        Err(error) => Err(error.to_string().split_once("table.data").unwrap().1.to_string()),
    }
}

fn classes(labels: &[&str]) -> TargetKind {
    TargetKind::Classes { labels: names(labels) }
}

#[test]
fn texts_and_truth_values_are_classes_in_the_order_of_their_labels() {
    let cells = ["red", "blue", "red", "green", "blue"].repeat(5);
    let (kind, y, notes) = seen(&cells, Task::Auto).unwrap();
    assert_eq!(
        (kind, &y[..5], notes),
        (classes(&["blue", "green", "red"]), &[2.0, 0.0, 2.0, 1.0, 0.0][..], Vec::new())
    );
    let (kind, y, _) = seen(&["TRUE", "false", "true"].repeat(4), Task::Auto).unwrap();
    assert_eq!((kind, &y[..3]), (classes(&["false", "true"]), &[1.0, 0.0, 1.0][..]));
    // Numbers among texts are labels, too.
    let (kind, ..) = seen(&["a", "b", "10", "9"].repeat(5), Task::Auto).unwrap();
    assert_eq!(kind, classes(&["10", "9", "a", "b"]));
}

#[test]
fn numbers_stay_numbers_with_a_note_and_are_classes_or_counts_where_that_is_asked_for() {
    let few = ["10", "9", "2.0"].repeat(10);
    let (kind, y, notes) = seen(&few, Task::Auto).unwrap();
    assert_eq!((kind, &y[..3]), (TargetKind::Numbers, &[10.0, 9.0, 2.0][..]));
    assert!(notes[0].contains("--task classification, or if they count something, with --task counts"), "{notes:?}");
    assert!(seen(&few, Task::Regression).unwrap().2.is_empty());
    let (kind, y, notes) = seen(&few, Task::Classification).unwrap();
    assert_eq!((kind, &y[..3], notes), (classes(&["2", "9", "10"]), &[2.0, 1.0, 0.0][..], Vec::new()));
    let (kind, y, _) = seen(&few, Task::Counts).unwrap();
    assert_eq!((kind, &y[..3]), (TargetKind::Counts, &[10.0, 9.0, 2.0][..]));
    let note = |cells: &[&str]| seen(cells, Task::Auto).unwrap().2;
    assert!(note(&["1", "-1"].repeat(20))[0].contains("say so with --task classification; --task regression"));
    let many: Vec<String> = (0..90).map(|i| (i % 40).to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(note(&many)[0].contains("if they count something, say so with --task counts; --task regression"));
    // Fractions, few rows, and numbers that are all different are just numbers.
    assert!(note(&["1", "2.5"].repeat(20)).is_empty() && note(&["1", "2"].repeat(14)).is_empty());
    assert!(note(&many[..40]).is_empty());
}

#[test]
fn rare_classes_are_told_of() {
    let cells = [&["a"; 9][..], &["b"; 4], &["c"]].concat();
    let told = "`y`: few rows are of \"b\" (4), \"c\" (1): little can be learnt about so rare a class";
    assert_eq!(seen(&cells, Task::Auto).unwrap().2, [told]);
}

#[test]
fn what_cannot_be_classes_or_counts_is_refused() {
    let said = |cells: &[&str], task| seen(cells, task).unwrap_err();
    let one = ": the target `y` is \"a\" in all 3 rows, so there is nothing to learn; name another target";
    assert_eq!(said(&["a"; 3], Task::Auto), one);
    assert!(
        said(&["15 m"; 3], Task::Auto)
            .ends_with("if it is a number, write them without units and separators, and dates as YYYY-MM-DD")
    );
    assert!(said(&["7"; 3], Task::Counts).contains("is \"7\" in all 3 rows"));
    assert_eq!(
        said(&["3", "0", "-2", "1"], Task::Counts),
        ", line 4, column `y`: \"-2\" is not a count (0, 1, 2, …, up to 10^12); mend the cell, or leave out --task counts to predict numbers"
    );
    assert!(said(&["3", "0.5"], Task::Counts).contains("line 3, column `y`: \"0.5\" is not a count"));
    assert!(said(&["3", "many"], Task::Counts).contains("\"many\" is not a count"));
    let fraction = said(&["1", "0.5"], Task::Classification);
    assert!(
        fraction.starts_with(", line 3, column `y`: \"0.5\" is not a whole number; classes are texts or"),
        "{fraction}"
    );
    assert!(
        said(&["1", "2", "oops"], Task::Auto).contains("line 4, column `y`: \"oops\" is not a number; mend the cell")
    );
    let different = |count: usize, rows: usize| (0..rows).map(|i| format!("n{}", i % count)).collect::<Vec<_>>();
    let refused = |count, rows, task| {
        let cells = different(count, rows);
        seen(&cells.iter().map(String::as_str).collect::<Vec<_>>(), task).map(|(kind, ..)| kind)
    };
    assert_eq!(
        refused(101, 400, Task::Auto).unwrap_err(),
        ": the target `y` has 101 different values in 400 rows, such as \"n0\", but at most 100 can be classes; take them as classes \
         all the same with --task classification, or name another target"
    );
    assert_eq!(refused(101, 400, Task::Classification).unwrap().labels().unwrap().len(), 101);
    let apart = refused(60, 90, Task::Auto).unwrap_err();
    assert!(apart.ends_with("at most half as many as there are rows can be classes; name another target"), "{apart}");
}

#[test]
fn of_several_targets_none_is_classes() {
    let wanted = |task| Wanted { targets: names(&["a", "b"]), task, ..Wanted::default() };
    let (schema, chunk, notes) = fit("x,a,b\n1,true,2\n2,false,3\n", &wanted(Task::Auto)).unwrap();
    assert_eq!((schema.target_kind, chunk.y.unwrap().row(0)), (TargetKind::Numbers, &[1.0, 2.0][..]));
    assert!(notes[0].starts_with("`a`: true and false are taken for 1 and 0"), "{notes:?}");
    for (table, task) in [("x,a,b\n1,p,2\n2,q,3\n", Task::Auto), ("x,a,b\n1,3,2\n2,4,3\n", Task::Counts)] {
        let error = fit(table, &wanted(task)).unwrap_err().to_string();
        assert!(
            error.contains("the target `a` is one of classes or counts, which are predicted one target at a time"),
            "{error}"
        );
    }
}

#[test]
fn a_later_table_is_numbered_by_the_first_ones_labels() {
    let (schema, ..) = fit("x,y\n1,no\n2,yes\n3,no\n", &target("y")).unwrap();
    let read = |schema: &Schema, bytes: &[u8]| {
        let file = TableFile::new(bytes);
        let chunk = schema.encoder(&file.source(), Targets::Needed).unwrap().read_all();
        chunk.map(|(chunk, _)| chunk.y.unwrap().as_slice().to_vec()).map_err(|error| error.to_string())
    };
    assert_eq!(read(&schema, b"y,x\nyes,1\nyes,2\n").unwrap(), [1.0, 1.0]);
    let unseen = read(&schema, b"x,y\n1,yes\n2,perhaps\n").unwrap_err();
    assert!(
        unseen.contains(
            ", line 3, column `y`: \"perhaps\" is no class that the model knows, which are `no`, `yes`; leave such rows"
        ),
        "{unseen}"
    );
    // Truth values are the same however a format writes them.
    let (schema, ..) = fit("x,y\n1,true\n2,false\n3,true\n", &target("y")).unwrap();
    assert_eq!(read(&schema, b"x,y\n1,1\n2,0\n").unwrap(), [1.0, 0.0]);
    let whole = Wanted { task: Task::Classification, ..target("y") };
    let (schema, ..) = fit("x,y\n1,1\n2,0\n3,1\n", &whole).unwrap();
    let columns = vec![(Values::Doubles(vec![1.0, 2.0]), None), (Values::Booleans(vec![true, false]), None)];
    let table = parquet("message t { REQUIRED DOUBLE x; REQUIRED BOOLEAN y; }", Compression::UNCOMPRESSED, &[columns]);
    assert_eq!(read(&schema, &table).unwrap(), [1.0, 0.0]);
    let (schema, ..) = fit("x,y\n1,1\n2,0\n3,1\n", &Wanted { task: Task::Counts, ..target("y") }).unwrap();
    assert!(
        read(&schema, b"x,y\n1,-1\n")
            .unwrap_err()
            .contains("\"-1\" is not a count (0, 1, 2, …, up to 10^12); the model was fitted to counts")
    );
}

#[test]
fn an_exposure_is_read_beside_the_inputs_and_must_be_above_0() {
    let wanted = || Wanted { task: Task::Counts, exposure: Some("hours".into()), ..target("y") };
    let (schema, chunk, notes) = fit("hours,x,y\n2,1,0\n0.5,7,3\n", &wanted()).unwrap();
    assert_eq!((schema.feature_names(), chunk.exposure), (names(&["x"]), Some(vec![2.0, 0.5])));
    assert!(notes.is_empty(), "{notes:?}");
    // It is needed to predict, too, and says nothing of rows that are left out.
    let other = TableFile::new("x,hours\n1,4\n,3\n2,8\n");
    let dropping = Schema { missing: deepgp_io::table::Missing::Drop, ..schema.clone() };
    let (chunk, _) = dropping.encoder(&other.source(), Targets::Unneeded).unwrap().read_all().unwrap();
    assert_eq!((chunk.kept, chunk.exposure), (vec![0, 2], Some(vec![4.0, 8.0])));
    let lacking = TableFile::new("x,y\n1,4\n");
    let error = schema.encoder(&lacking.source(), Targets::Unneeded).unwrap_err().to_string();
    assert!(error.contains("there is no column `hours`, which is the exposure of the model"), "{error}");
    let said = |table: &str, wanted: &Wanted| fit(table, wanted).unwrap_err().to_string();
    let zero = said("hours,x,y\n2,1,0\n0,7,3\n", &wanted());
    assert!(zero.contains("line 3, column `hours`: \"0\" is not a number above 0; an exposure is"), "{zero}");
    let missing = said("hours,x,y\n,1,0\n1,7,3\n", &wanted());
    assert!(missing.contains("targets and exposures cannot be filled in"), "{missing}");
    let twice = said("hours,x,y\n1,1,0\n1,7,3\n", &Wanted { ignore: names(&["hours"]), ..wanted() });
    assert!(twice.contains("asked to be the exposure and asked to be ignored"), "{twice}");
}
