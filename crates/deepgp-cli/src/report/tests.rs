//! Laws of whole reports: sound pictures and a sound page, whatever the data and the names.

use super::Along;
use super::example::{
    counts, empty, heteroscedastic, report, report_on_three, several_classes, student_t, two_classes,
};
use super::{Interval, Report, page, pictures};
use crate::html::laws::assert_sound;
use crate::model::units::Judge;
use crate::picture::png;
use deepgp::{Mat, ObjectiveForm, TransformChoice};
use std::collections::HashSet;

const HOSTILE: [&str; 5] = [
    "<script>alert('1')</script>",
    "a & b \"c\" 'd' ]]> <!-- -->",
    "\u{0}\u{1b}\u{ffff}\n\t",
    "温度 · Größe · \u{202e}abc · 🦀",
    "</style></svg></title><img src=x onerror=alert(1)>",
];

/// Every name and text of the report made hostile, and one of them very long.
fn hostile() -> Report {
    let mut report = heteroscedastic();
    let long = "long name ".repeat(100);
    let text = |i: usize| HOSTILE[i % HOSTILE.len()].to_owned();
    (report.title, report.summary, report.created, report.version) = (text(0), text(1), text(2), text(3));
    report.scored_on = Some(text(4));
    report.scores.iter_mut().enumerate().for_each(|(i, row)| row.name = text(i));
    report.outputs[0].name = text(0) + &long;
    report.targets = vec![text(0) + &long];
    let noise = report.outputs[0].noise.as_mut().expect("noise that follows the inputs");
    noise.inputs.iter_mut().enumerate().for_each(|(i, input)| input.0 = text(i) + &long);
    for (i, layer) in report.relevance.iter_mut().enumerate() {
        layer.layer = text(i) + &long;
        layer.inputs.iter_mut().enumerate().for_each(|(j, input)| input.0 = text(j) + &long);
    }
    for (i, view) in report.inducing.iter_mut().enumerate() {
        (view.layer, view.axes) = (text(i), (text(i + 1), text(i + 2) + &long));
    }
    report.settings = HOSTILE.iter().map(|text| ((*text).to_owned(), long.clone())).collect();
    report.notes = HOSTILE.iter().map(|text| (*text).to_owned()).collect();
    report
}

/// A report on classes with hostile labels, and one of them very long.
fn hostile_classes() -> Report {
    let mut report = several_classes();
    let classes = report.classes.as_mut().expect("classes");
    let label =
        |(i, own): (usize, &mut String)| *own = format!("{}{i}", HOSTILE[i % HOSTILE.len()]).repeat(1 + 20 * (i % 2));
    classes.labels.iter_mut().enumerate().for_each(label);
    report
}

/// The report with predictions of classes or counts that are no numbers.
fn spoilt(mut report: Report) -> Report {
    let spoil = |v: &mut [f64]| v.iter_mut().step_by(3).for_each(|v| *v = f64::NAN);
    if let Some(rows) = report.classes.as_mut().and_then(|own| own.rows.as_mut()) {
        spoil(rows.probabilities.as_mut_slice());
    }
    if let Some(rows) = report.counts.as_mut().and_then(|own| own.rows.as_mut()) {
        for own in [&mut rows.model.below, &mut rows.model.up_to, &mut rows.model.log_mass] {
            spoil(own);
        }
        rows.frequencies.iter_mut().step_by(2).for_each(|own| own.expected = f64::NAN);
        rows.hardest.iter_mut().for_each(|own| own.probability = f64::NAN);
    }
    report
}

/// Calls `change` with every series of the report.
fn each_series(report: &mut Report, change: &dyn Fn(&mut Vec<f64>)) {
    for o in &mut report.outputs {
        [&mut o.y, &mut o.mean, &mut o.pit, &mut o.deviation].into_iter().for_each(change);
        let (mut lower, mut upper): (Vec<f64>, Vec<f64>) = o.intervals_95.iter().map(|i| (i.lower, i.upper)).unzip();
        change(&mut lower);
        change(&mut upper);
        let ends = lower.into_iter().zip(upper);
        let changed = o.intervals_95.iter().zip(ends).map(|(own, (lower, upper))| Interval { lower, upper, ..*own });
        o.intervals_95 = changed.collect();
        if let Some(noise) = &mut o.noise {
            [&mut noise.mean, &mut noise.error, &mut noise.spread, &mut noise.deviation].into_iter().for_each(change);
            noise.inputs.iter_mut().for_each(|(_, values)| change(values));
        }
    }
    let h = &mut report.history;
    let columns =
        [&mut h.step, &mut h.seconds, &mut h.objective, &mut h.data_term, &mut h.kl, &mut h.noise, &mut h.model_noise];
    columns.into_iter().for_each(change);
    for own in report.importance.iter_mut().flat_map(|view| &mut view.dependence) {
        let (mut lower, mut upper): (Vec<f64>, Vec<f64>) = own.band.iter().copied().unzip();
        [&mut lower, &mut upper].into_iter().chain(&mut own.curves).for_each(change);
        own.means.iter_mut().for_each(|(_, values)| change(values));
        own.band = lower.into_iter().zip(upper).collect();
        if let Along::Numbers(values) = &mut own.along {
            change(values);
        }
    }
    for view in &mut report.importance {
        let mut shares: Vec<f64> = view.columns.iter().map(|(_, own)| own.share).collect();
        change(&mut shares);
        view.columns.truncate(shares.len());
        view.columns.iter_mut().zip(shares).for_each(|((_, own), share)| own.share = share);
    }
    for layer in &mut report.relevance {
        let mut values: Vec<f64> = layer.inputs.iter().map(|input| input.1).collect();
        change(&mut values);
        layer.inputs.truncate(values.len());
        layer.inputs.iter_mut().zip(values).for_each(|(input, value)| input.1 = value);
    }
    let pairs =
        report.inducing.iter_mut().flat_map(|v| [&mut v.data, &mut v.mean_inducing, &mut v.covariance_inducing]);
    let curves = report.outputs.iter_mut().flat_map(|o| &mut o.densities).map(|own| &mut own.curve);
    for pairs in pairs.chain(curves).chain([&mut report.history.validation]) {
        let (mut x, mut y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        change(&mut x);
        change(&mut y);
        *pairs = x.into_iter().zip(y).collect();
    }
}

fn changed(change: &dyn Fn(&mut Vec<f64>)) -> Report {
    let mut report = heteroscedastic();
    report.outputs[0].densities[1].y = f64::NAN;
    each_series(&mut report, change);
    report
}

/// Reports on ordinary data, and on every kind that could break a scale.
fn reports() -> Vec<(&'static str, Report)> {
    let spoil = |v: &mut Vec<f64>, bad: f64| v.iter_mut().step_by(3).for_each(|v| *v = bad);
    vec![
        ("ordinary", report()),
        ("three targets", report_on_three()),
        ("noise that follows the inputs", heteroscedastic()),
        ("Student's t", student_t()),
        ("two classes", two_classes()),
        ("several classes", several_classes()),
        ("counts", counts()),
        ("spoilt classes", spoilt(two_classes())),
        ("spoilt several classes", spoilt(several_classes())),
        ("spoilt counts", spoilt(counts())),
        ("hostile classes", hostile_classes()),
        ("empty", empty()),
        ("hostile", hostile()),
        ("without rows", changed(&Vec::clear)),
        ("one row", changed(&|v| v.truncate(1))),
        ("two rows", changed(&|v| v.truncate(2))),
        ("constant", changed(&|v| v.fill(3.0))),
        ("zero", changed(&|v| v.fill(0.0))),
        ("negative", changed(&|v| v.fill(-1e-300))),
        ("huge", changed(&|v| v.iter_mut().for_each(|v| *v *= 1e160))),
        ("far apart", changed(&|v| v.iter_mut().step_by(2).for_each(|v| *v *= 1e140))),
        ("all NaN", changed(&|v| v.fill(f64::NAN))),
        ("some NaN", changed(&|v| spoil(v, f64::NAN))),
        ("some infinite", changed(&|v| spoil(v, f64::NEG_INFINITY))),
        ("uneven", changed(&|v| v.truncate(v.len() / 2 + v.capacity() % 3))),
    ]
}

#[test]
fn every_picture_is_well_formed_and_has_distinct_stems() {
    for (kind, report) in reports() {
        let mut stems = HashSet::new();
        for (stem, svg) in pictures(&report) {
            crate::picture::parse(&svg).unwrap_or_else(|error| panic!("{kind}, {stem}: {error}"));
            assert!(!svg.contains("NaN") && !svg.contains("inf\"") && !svg.contains("inf "), "{kind}, {stem}: {svg}");
            assert!(stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{stem}");
            assert!(stems.insert(stem), "{kind}");
        }
    }
}

#[test]
fn ordinary_pictures_are_small_and_all_there() {
    let layers = "relevance-1 relevance-2 relevance-3 inducing-1 inducing-2 inducing-3";
    let of_rows = "predicted coverage reliability pit densities";
    let learning = "residuals spread importance dependence objective objective-late validation";
    let expected = [
        (report(), format!("{of_rows} {learning} noise {layers}")),
        // Noise that follows the inputs is no one number, and has figures of its own.
        (heteroscedastic(), format!("{of_rows} noise-mean noise-inputs {learning} {layers}")),
    ];
    for (report, expected) in expected {
        let pictures = pictures(&report);
        let stems: Vec<&str> = pictures.iter().map(|(stem, _)| stem.as_str()).collect();
        assert_eq!(stems, expected.split_whitespace().collect::<Vec<_>>());
        for (stem, svg) in &pictures {
            let most = if stem == "noise-inputs" { 150_000 } else { 60_000 };
            assert!(svg.len() < most, "{stem} has {} bytes", svg.len());
        }
    }
}

#[test]
fn classes_and_counts_have_their_own_figures_and_none_of_numbers() {
    let of_model = "importance dependence objective objective-late validation relevance-1 relevance-2 relevance-3 inducing-1 inducing-2 inducing-3";
    let expected = [
        (two_classes(), "confusion reliability stated mistakes"),
        (several_classes(), "confusion reliability stated mistakes"),
        (counts(), "rootogram pit"),
    ];
    for (report, own) in expected {
        let pictures = pictures(&report);
        let stems: Vec<&str> = pictures.iter().map(|(stem, _)| stem.as_str()).collect();
        assert_eq!(stems, own.split_whitespace().chain(of_model.split_whitespace()).collect::<Vec<_>>());
        assert!(pictures.iter().all(|(_, svg)| svg.len() < 60_000));
        let page = page(&report);
        for part in [
            "Residuals",
            "Transform of",
            "Predicted densities",
            "Standard deviation of the noise",
            "CRPS",
            "log density",
            "Standardised",
        ] {
            assert!(!page.contains(part), "{part}");
        }
        assert!(page.contains("<caption>The hardest rows</caption>"));
    }
}

#[test]
fn key_numbers_and_words_are_those_of_what_is_predicted() {
    let numbers = |report: &Report| page(report).split("<nav").next().unwrap_or_default().to_owned();
    let report = two_classes();
    let score = report.classes.as_ref().and_then(|own| own.of_model()).expect("a score").clone();
    let told = numbers(&report);
    let loss = format!(
        "<dt>Log loss</dt><dd class=\"value\">{:.3}</dd><dd>best baseline 0.693, class shares</dd>",
        score.log_loss
    );
    assert!(told.contains(&loss), "{loss}: {told}");
    assert!(told.contains("<dt>AUC</dt>") && told.contains("<dt>Training time</dt>"), "{told}");
    assert!(!numbers(&several_classes()).contains("AUC"));
    assert!(
        page(&report).contains("mean log loss of a validation row") && page(&report).contains("a rise after a trough")
    );
    let counted = page(&counts());
    assert!(counted.contains("<dt>Log score</dt>") && counted.contains("mean log probability of a validation row"));
    // Without scores, those of training.
    let mut unscored = two_classes();
    unscored.classes.as_mut().expect("classes").scores.clear();
    assert!(numbers(&unscored).contains("<dt>Validation log loss</dt>"), "{}", numbers(&unscored));
}

#[test]
fn a_report_on_no_rows_of_classes_has_no_figures_of_them() {
    let mut report = two_classes();
    let classes = report.classes.as_mut().expect("classes");
    classes.rows = Some(super::ClassRows { truth: Vec::new(), probabilities: Mat::zeros(0, 2), numbers: Vec::new() });
    let page = page(&report);
    assert!(
        page.contains("figure-confusion") && !page.contains("figure-reliability") && !page.contains("The hardest rows")
    );
}

#[test]
fn pages_are_self_contained_with_unique_ids_and_no_markup_from_names() {
    for (kind, report) in reports() {
        let page = page(&report);
        assert_sound(kind, &page);
    }
}

#[test]
fn a_page_without_data_has_no_sections() {
    let page = page(&empty());
    assert!(!page.contains("<section") && !page.contains("<figure") && !page.contains("<aside"));
}

#[test]
fn every_text_of_the_report_is_on_the_page() {
    let (report, page) = (report(), page(&report()));
    let texts =
        [&report.title, &report.summary, &report.created, &report.version, &report.settings[0].1, &report.notes[0]];
    for text in texts.into_iter().chain(report.scores.iter().map(|row| &row.name)) {
        assert!(page.contains(text.as_str()), "{text}");
    }
}

/// The rows of a table that begins with this caption, up to its end.
fn table<'a>(page: &'a str, caption: &str) -> &'a str {
    let (_, table) = page.split_once(&format!("<caption>{caption}</caption>")).expect("the table");
    table.split("</table>").next().unwrap_or_default()
}

#[test]
fn a_likelihood_of_several_targets_is_told_once_and_as_joint() {
    let page = page(&report_on_three());
    assert_eq!(page.matches("−8.10").count(), 2, "a number at the top and one in a table");
    let together = table(&page, "All targets together");
    assert!(together.contains("joint log likelihood") && together.contains("<td class=\"best\">−8.100"), "{together}");
    let each = table(&page, "In units of each target");
    assert!(!each.contains("likelihood"), "{each}");
    // The best model of each target stands out, and the best baseline stands at the top.
    for best in ["4.30", "4.90", "9.90"] {
        assert!(each.contains(&format!("<td class=\"best\">{best}")), "{best}: {each}");
    }
    assert!(page.contains("best baseline 4.90, linear regression"));
    for part in ["Standard deviation of the noise: strength", "2.11 of strength, 3.22 of slump, 4.33 of flow"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_model_of_an_earlier_step_is_not_told_as_that_of_the_last() {
    let mut report = report();
    let early = page(&report);
    for part in ["2.11 at step 8500, which was kept, and 2.10 at the last", "The model is that of step 8500"] {
        assert!(early.contains(part), "{part}");
    }
    assert!(!early.contains("asks for more steps"));
    report.scores.clear();
    assert!(page(&report).contains("at the last step; the model is that of step 8500"));
    report.history.kept_step = None;
    let late = page(&report);
    assert!(late.contains("asks for more steps") && late.contains("2.11 at the end"));
}

/// The key numbers of a report without scores, which are those of training.
fn of_training(mut report: Report) -> String {
    report.scores.clear();
    let page = page(&report);
    page.split("<nav").next().unwrap_or_default().to_owned()
}

#[test]
fn curves_and_numbers_name_the_objective_that_was_maximised() {
    let named = |objective: ObjectiveForm| {
        let mut report = report();
        report.choices.objective = objective;
        let all = pictures(&report);
        let (_, svg) = all.iter().find(|(stem, _)| stem == "objective").expect("the picture");
        (svg.clone(), page(&report), of_training(report))
    };
    let forms = [
        (ObjectiveForm::Elbo, "Evidence lower bound", "ELBO"),
        (ObjectiveForm::Tighter, "Tighter evidence lower bound", "tighter ELBO"),
        (ObjectiveForm::PREDICTIVE, "Predictive objective", "predictive objective"),
        (ObjectiveForm::Faithful { power: 0.5, hold: 0.5, release: 1.0 }, "Faithful objective", "faithful objective"),
    ];
    for (form, title, label) in forms {
        let (svg, page, numbers) = named(form);
        assert!(svg.contains(&format!(">{title}<")) && svg.contains(&format!(">{label}<")), "{form:?}");
        assert!(numbers.contains(&format!("<dt>{title}</dt>")), "{form:?}: {numbers}");
        let of_a_bound = matches!(form, ObjectiveForm::Elbo | ObjectiveForm::Tighter);
        assert_eq!(page.contains("The bound that training raises"), of_a_bound, "{form:?}");
        assert_eq!(page.contains("With the power 0.50 it lies between"), form.power() == Some(0.5), "{form:?}");
    }
}

#[test]
fn less_is_better_where_validation_rows_judged_by_crps() {
    let judged = |judge: Judge| {
        let mut report = report();
        report.choices.judge = judge;
        report.history.validation = vec![(1.0, 3.0), (2.0, 1.25), (3.0, f64::NAN), (4.0, 2.0)];
        (page(&report), of_training(report))
    };
    let (dense, numbers) = judged(Judge::LogDensity);
    assert!(numbers.contains("<dt>Validation log density</dt><dd class=\"value\">3.00</dd>"), "{numbers}");
    assert!(dense.contains("mean log density of a validation row") && dense.contains("a fall after a peak"));
    let (ranked, numbers) = judged(Judge::Crps);
    assert!(numbers.contains("<dt>Validation CRPS</dt><dd class=\"value\">1.25</dd>"), "{numbers}");
    assert!(numbers.contains("lower is better"), "{numbers}");
    assert!(ranked.contains("mean CRPS of a validation row") && ranked.contains("a rise after a trough"));
    assert!(!ranked.contains("log density of a validation row") && !ranked.contains("a fall after a peak"));
}

#[test]
fn the_choices_are_told_as_far_as_they_were_made() {
    let told = |report: &Report| {
        let page = page(report);
        let (_, rest) = page.split_once("<dl class=\"choices\">").expect("the choices");
        rest.split("</dl>").next().unwrap_or_default().to_owned()
    };
    let titles = |told: &str| told.matches("<dt>").count();
    let mut report = heteroscedastic();
    let all = told(&report);
    for part in [
        "Likelihood: heteroscedastic",
        "Objective: faithful",
        "the first 50\u{202f}% of the steps",
        "Validation score: crps",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert_eq!(titles(&all), 3);
    report.choices.sites = Some(8);
    report.choices.kl_weight = Some(0.05);
    let more = told(&report);
    assert!(more.contains("Learned sites: 8") && more.contains("KL weight: 0.050") && titles(&more) == 5, "{more}");
    assert!(page(&report).contains("training counted it 0.050 times"));
    // A model that was built and not trained has maximised nothing, and was not judged.
    report.choices.sites = None;
    report.history = super::History::default();
    assert_eq!(titles(&told(&report)), 1);
}

#[test]
fn what_nobody_chose_is_told_as_such() {
    let mut report = heteroscedastic();
    assert!(!page(&report).contains("It was not chosen"));
    report.choices.objective_by_default = true;
    assert!(page(&report).contains("It was not chosen, but is what suits the likelihood."));
}

#[test]
fn transforms_are_told_where_one_was_asked_for_or_looked_for() {
    let told = |asked: TransformChoice, own: TransformChoice| {
        let mut report = heteroscedastic();
        (report.choices.transform_asked, report.choices.transforms) = (asked, vec![own]);
        page(&report)
    };
    let (none, auto, log) = (TransformChoice::None, TransformChoice::Auto, TransformChoice::Log);
    assert!(!told(none, none).contains("<dt>Transform"));
    assert!(told(auto, none).contains("<dt>Transform of targets: none</dt>"));
    let (asked, found) = (told(log, log), told(auto, log));
    assert!(asked.contains("<dt>Transform of strength: log</dt>") && !asked.contains("It was found to suit"));
    assert!(found.contains("<dt>Transform of strength: log</dt>") && found.contains("It was found to suit"));
    // The CRPS of validation rows is that of the transformed target.
    let mut report = heteroscedastic();
    assert!(page(&report).contains("an error, in units of the target."));
    report.history.noise_units = Some(vec!["ln strength".to_owned()]);
    assert!(page(&report).contains("an error, in units of ln strength."));
}

#[test]
fn the_tails_of_students_t_are_told() {
    let t = page(&student_t());
    // The standard deviation is the scale times √(ν / (ν − 2)).
    for part in ["Scale of the noise", "It has 4.00 degrees of freedom.", "its standard deviation is 2.98."] {
        assert!(t.contains(part), "{part}");
    }
    let gaussian = page(&report());
    assert!(gaussian.contains("Standard deviation of the noise") && !gaussian.contains("degrees of freedom"));
}

#[test]
fn heights_along_a_single_input_have_no_scale() {
    let mut report = report();
    report.inducing.truncate(1);
    let view = &mut report.inducing[0];
    let line = |points: &mut Vec<(f64, f64)>, height: f64| points.iter_mut().for_each(|p| p.1 = height);
    line(&mut view.data, 0.0);
    line(&mut view.mean_inducing, 1.0);
    line(&mut view.covariance_inducing, 2.0);
    let labels = |report: &Report| {
        let all = pictures(report);
        let (_, svg) = all.iter().find(|(stem, _)| stem == "inducing").expect("the picture");
        svg.matches("text-anchor=\"end\"").count()
    };
    assert!(labels(&report) > 0);
    report.inducing[0].axes.1.clear();
    assert_eq!(labels(&report), 0);
}

#[test]
fn pictures_of_hostile_data_become_pixels() {
    for (kind, report) in [("hostile", hostile()), ("one row", changed(&|v| v.truncate(1)))] {
        for (stem, svg) in pictures(&report) {
            assert!(png(&svg).is_ok_and(|file| file.len() > 1000), "{kind}, {stem}");
        }
    }
}
