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
        Mark::drops(at(), Colour::Ink),
        Mark::segments(pairs(), Colour::Muted),
        Mark::boxes(pairs(), Colour::Model),
        Mark::horizontal_rule(first.1, Colour::Ink),
        Mark::vertical_rule(first.0, Colour::Ink),
    ];
    let panel =
        marks.into_iter().fold(Panel::new(axis(title), axis(title)), |panel, mark| panel.with(mark.labelled(title)));
    let first = Chart::new(title).with(panel.clone(), 2.0).with(panel.clone(), 1.0);
    first.below().with(panel, 1.0).key(Mark::line([], Colour::Ink).labelled(title)).draw()
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

/// The vertical extents of the plots, from their axes: lines as wide as the plot.
fn axes(picture: &Picture) -> Vec<(f64, f64)> {
    let svg = picture.inline();
    let stroke = format!("stroke=\"{}\"", Colour::Axis.css());
    let lines = svg.split(&stroke).map(|before| before.rsplit("d=\"M").next());
    let place = |text: &str| {
        let (at, _) = text.split_once('h')?;
        let (x, y) = at.split_once(' ')?;
        Some((x.parse().ok()?, y.parse().ok()?))
    };
    lines.flatten().filter_map(place).collect()
}

#[test]
fn rows_lie_below_each_other_and_begin_anew_at_the_left() {
    let panel = |name: &str| {
        Panel::new(Axis::new(name), Axis::new("y").between(0.0, 1.0))
            .with(Mark::line([(0.0, 0.0), (1.0, 1.0)], Colour::Model))
    };
    let chart = Chart::new("t").below().with(panel(""), 1.0).with(panel("x"), 1.0).below().with(panel("x"), 1.0);
    let [a, b, c] = axes(&chart.draw())[..] else { panic!("three panels") };
    assert!(a.0 < b.0 && a.1 == b.1, "one row: {a:?} {b:?}");
    assert!(c.0 == a.0 && c.1 > a.1 + 100.0, "the next row: {a:?} {c:?}");
    // One row is as high as it ever was, whether or not a second was thought of.
    let one = |chart: Chart| axes(&chart.with(panel("x"), 1.0).draw());
    assert_eq!(one(Chart::new("t")), one(Chart::new("t").below()));
}

#[test]
fn a_key_is_in_the_legend_although_it_has_no_points() {
    let panel = Panel::new(Axis::new("x"), Axis::new("y")).with(Mark::line([], Colour::Model).labelled("nothing"));
    let svg =
        Chart::new("t").with(panel, 1.0).key(Mark::line([], Colour::Ink).dashed().labelled("slow")).draw().inline();
    assert!(svg.contains("slow") && svg.contains("stroke-dasharray") && !svg.contains("nothing"), "{svg}");
}

#[test]
fn a_line_that_dives_is_seen_to_leave() {
    let panel = Panel::new(Axis::new("x").between(0.0, 4.0), Axis::new("y").between(0.0, 1.0));
    let dive = |panel: Panel| panel.with(Mark::line([(0.0, 0.5), (1.0, 0.5), (2.0, -1e9), (4.0, 0.5)], Colour::Other));
    let svg = Chart::new("t").with(dive(panel), 1.0).draw().inline();
    let line = svg.split("<path d=\"").find(|path| path.contains("stroke=\"var(--other")).unwrap();
    assert_eq!(line.split('"').next().unwrap().matches('M').count(), 2, "out and in again: {line}");
}

#[test]
fn a_chart_without_values_says_so() {
    let empty = Chart::new("t").with(Panel::new(Axis::new("seconds"), Axis::new("nats a row")), 1.0).draw().inline();
    assert!(empty.contains("no data") && empty.contains("nats a row"), "still titled: {empty}");
    assert!(chart("t", &[], false).inline().contains("no data"));
    assert!(chart("t", &[(f64::NAN, 1.0)], false).inline().contains("no data"));
    assert!(!chart("t", &[(1.0, 1.0)], false).inline().contains("no data"));
}

#[test]
fn bars_are_well_formed_whatever_the_values() {
    let list = |values: &[f64]| {
        let bar =
            |&value: &f64| Bar { name: "<&\"'> ".repeat(20), value, doubt: 0.1 * value, shown: value.to_string() };
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
