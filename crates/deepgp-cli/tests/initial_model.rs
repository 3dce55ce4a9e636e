//! Fits that start from a model: `fit --init`.

mod common;

use common::{Place, arm};

/// A model that takes a moment.
const SMALL: &str = "--hidden-layers 1 --width 2 --mean-inducing 30 --covariance-inducing 15 --threads 1";

/// A folder with a table and a model of it.
fn fitted() -> Place {
    let place = Place::new();
    place.write("arm.csv", arm(300, 1));
    place.done(&format!("fit arm.csv --target distance {SMALL} --steps 300 --validation 0.2 --out old.deepgp --quiet"));
    place
}

#[test]
fn training_begins_where_the_model_was() {
    let place = fitted();
    let old = place.model("old.deepgp");
    let ended = place.done("fit arm.csv --init old.deepgp --validation 0.2 --steps 5 --threads 1 --out again.deepgp");
    assert!(ended.stderr.contains("training starts from old.deepgp, after its 300 steps"), "{}", ended.stderr);
    let again = place.model("again.deepgp");
    // The same rows are held out, so the first look is at what was kept.
    assert_eq!(again.history.validation()[0], (0, old.history.kept().unwrap().1));
    assert_eq!(again.regressor.standardiser, old.regressor.standardiser);
    assert_eq!((again.record.steps, again.record.settings.model.width), (5, 2));

    // On other rows, with a test of its own; the options of the first fit are no contradiction.
    place.write("new.csv", arm(200, 2));
    let fit = format!("fit new.csv --target distance {SMALL} --init old.deepgp --test 0.2 --steps 5 --out new.deepgp");
    place.done(&fit);
    let new = place.model("new.deepgp");
    assert_eq!((new.record.test_rows, &new.regressor.standardiser), (40, &old.regressor.standardiser));
    assert_eq!(new.schema, old.schema);
    // It can take the place of the model that it started from.
    place.done("fit new.csv --init new.deepgp --steps 5 --out new.deepgp");
}

#[test]
fn what_contradicts_the_model_is_named() {
    let place = fitted();
    let refused = place.run("fit arm.csv --init old.deepgp --target a1 --hidden-layers 3 --kernel matern32 --width 2");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("--target, --hidden-layers, --kernel;"), "{}", refused.stderr);
    let refused = place.run("fit arm.csv --init arm.csv");
    assert!(refused.code == Some(1) && refused.stderr.contains("--init"), "{}", refused.stderr);

    place.write("less.csv", arm(50, 2).replace("a3", "angle"));
    let refused = place.run("fit less.csv --init old.deepgp");
    assert!(refused.code == Some(1) && refused.stderr.contains("a3"), "{}", refused.stderr);
}

#[test]
fn a_category_that_the_model_does_not_know_is_named() {
    let place = Place::new();
    let table = |levels: [&str; 2]| {
        let row = |i: usize| format!("{},{},{}\n", levels[i % 2], i % 7, i % 7 + 2 * (i % 2));
        std::iter::once("colour,size,y\n".to_string()).chain((0..60).map(row)).collect::<String>()
    };
    place.write("old.csv", table(["red", "blue"]));
    place.write("new.csv", table(["red", "green"]));
    place.done(
        "fit old.csv --target y --task regression --hidden-layers 0 --inducing 10 --steps 5 --out old.deepgp --quiet",
    );
    place.done("fit old.csv --init old.deepgp --steps 5 --out again.deepgp");
    let refused = place.run("fit new.csv --init old.deepgp --steps 5 --out again.deepgp");
    assert!(
        refused.code == Some(1) && refused.stderr.contains("`colour` (30 cells, the first \"green\")"),
        "{}",
        refused.stderr
    );
}
