//! Laws of whole pictures: sound SVG, and PNG of the right size with something on it.

use super::{Axis, Bar, BarList, Chart, Colour, Mark, Panel, Picture, parse, png};
use resvg::tiny_skia::Pixmap;

/// A chart with every kind of mark on the same points.
fn chart(title: &str, points: &[(f64, f64)], log: bool) -> Picture {
    let axis = |name: &str| if log { Axis::new(name).log() } else { Axis::new(name) };
    let at = || points.iter().copied();
    let pairs = || points.windows(2).map(|pair| [pair[0], pair[1]]);
    let first = points.first().copied().unwrap_or((f64::NAN, f64::NAN));
    let marks = [
        Mark::line(at(), Colour::Model),
        Mark::band(at().map(|(x, y)| (x, y - 1.0, y + 1.0)), Colour::Other),
        Mark::dots(at(), Colour::Model),
        Mark::circles(at(), Colour::Ink),
        Mark::crosses(at(), Colour::Other).dashed(),
        Mark::segments(pairs(), Colour::Muted),
        Mark::boxes(pairs(), Colour::Model),
        Mark::level(first.1, Colour::Ink),
        Mark::moment(first.0, Colour::Ink),
    ];
    let panel =
        marks.into_iter().fold(Panel::new(axis(title), axis(title)), |panel, mark| panel.with(mark.labelled(title)));
    Chart::new(title).with(panel.clone(), 2.0).with(panel, 1.0).draw()
}

fn data() -> Vec<(&'static str, Vec<(f64, f64)>)> {
    let wave: Vec<_> = (0..5000).map(|i| (f64::from(i), 3.0 + (0.01 * f64::from(i)).sin())).collect();
    let mut holes = wave.clone();
    holes.iter_mut().step_by(7).for_each(|point| point.1 = f64::NAN);
    holes.iter_mut().step_by(11).for_each(|point| point.0 = f64::INFINITY);
    vec![
        ("ordinary", wave),
        ("empty", vec![]),
        ("a single point", vec![(2.0, 3.0)]),
        ("constant", vec![(1.0, 5.0), (2.0, 5.0), (3.0, 5.0)]),
        ("the same point twice", vec![(1.0, 5.0), (1.0, 5.0)]),
        ("holes", holes),
        ("nothing finite", vec![(f64::NAN, f64::INFINITY); 3]),
        ("extreme", vec![(-1e300, 1e-300), (f64::MAX, f64::MIN), (f64::MIN_POSITIVE, 1e149)]),
    ]
}

#[test]
fn charts_are_well_formed_whatever_the_data_and_the_names() {
    let long = "<b>&\"'".repeat(200);
    for title in ["plain", "<script>alert(1)</script>", "a & \"b\" 'c'", "温度 🦀 \u{0}", long.as_str(), ""] {
        for (kind, points) in data() {
            for log in [false, true] {
                let svg = chart(title, &points, log).standalone();
                parse(&svg).unwrap_or_else(|error| panic!("{kind}, {title}, log {log}: {error}"));
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{kind}, log {log}");
            }
        }
    }
}

#[test]
fn a_chart_without_values_says_so() {
    assert!(chart("t", &[], false).inline().contains("no data"));
    assert!(chart("t", &[(f64::NAN, 1.0)], false).inline().contains("no data"));
    assert!(!chart("t", &[(1.0, 1.0)], false).inline().contains("no data"));
}

#[test]
fn bars_are_well_formed_whatever_the_values() {
    let list = |values: &[f64]| {
        let bar = |&value: &f64| Bar { name: "<&\"'> ".repeat(20), value, shown: value.to_string() };
        BarList { title: "t".to_owned(), bars: values.iter().map(bar).collect(), remark: "and <more>".to_owned() }
            .draw()
    };
    for values in [&[][..], &[1.0], &[0.0, 0.0], &[f64::NAN, -1.0, f64::INFINITY], &[3.0, 2.0, 1e-300]] {
        parse(&list(values).standalone()).unwrap_or_else(|error| panic!("{values:?}: {error}"));
    }
    assert!(list(&[]).inline().contains("no data"));
}

#[test]
fn a_png_has_twice_the_size_and_is_not_blank() {
    let picture = chart("title", &[(0.0, 1.0), (1.0, 3.0), (2.0, 2.0)], false);
    let size = parse(&picture.standalone()).expect("a sound picture").size();
    let pixels = Pixmap::decode_png(&png(&picture.standalone()).expect("a sound picture")).expect("a PNG file");
    assert_eq!((pixels.width(), pixels.height()), (2 * size.width() as u32, 2 * size.height() as u32));
    let corner = pixels.pixel(0, 0).expect("a corner");
    assert_eq!((corner.red(), corner.green(), corner.blue(), corner.alpha()), (255, 255, 255, 255));
    let marked = pixels.pixels().iter().filter(|&&pixel| pixel != corner).count();
    assert!(marked > 5_000, "{marked} pixels");
}

#[test]
fn text_is_drawn_with_the_font_of_our_own() {
    let ink = |title: &str| {
        let file = png(&Chart::new(title).draw().standalone()).expect("a sound picture");
        let pixels = Pixmap::decode_png(&file).expect("a PNG file");
        pixels.pixels().iter().filter(|pixel| pixel.red() < 128).count()
    };
    assert_eq!(ink(""), 0);
    assert!(ink("Mean − ±2 · Größe") > 200);
}

#[test]
fn what_is_not_sound_is_an_error() {
    assert!(png("<svg").is_err_and(|message| message.contains("not sound")));
}
