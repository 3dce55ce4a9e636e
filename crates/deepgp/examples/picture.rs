//! Draws the picture at the top of the README: a step, seen by one layer and by three.
//!
//! ```text
//! cargo run --release --example picture > docs/step.svg
//! ```

use std::fmt::Write;
use std::ops::ControlFlow;

use deepgp::simulate::step_curve;
use deepgp::{Dataset, FitSettings, InducingSize, Mat, ModelSettings, PredictSettings, Regressor, TrainSettings};

/// The width and height of a panel.
const PANEL: (f64, f64) = (370.0, 240.0);
/// The room to the left of a panel, for labels.
const LEFT: f64 = 34.0;
/// The room between panels.
const GAP: f64 = 16.0;
/// The room above panels, for titles.
const TOP: f64 = 40.0;
/// The room below panels, for labels and the legend.
const BOTTOM: f64 = 60.0;
/// The range of the horizontal axis.
const X: (f64, f64) = (-1.05, 1.05);
/// The range of the vertical axis.
const Y: (f64, f64) = (-1.9, 1.9);
/// The places of both axes at which there are a grid line and a label.
const TICKS: [f64; 3] = [-1.0, 0.0, 1.0];
/// The style sheet: colours for light pages, and for dark ones.
const STYLE: &str = "svg{color-scheme:light dark;--paper:#fff;--ink:#1f2328;--muted:#5b636d;--grid:#e7e9ec;--band:#bcd7ee;--mean:#0b66a8}\
@media (prefers-color-scheme:dark){svg{--paper:#15181c;--ink:#e7e9ec;--muted:#a4acb6;--grid:#2a2f36;--band:#1f4a6b;--mean:#5ab4e8}}\
.paper{fill:var(--paper)}.title{fill:var(--ink);font-size:16px}.muted{fill:var(--muted)}.grid{stroke:var(--grid);fill:none}\
.band{fill:var(--band)}.mean{stroke:var(--mean);stroke-width:2.2;fill:none}.data{fill:var(--ink);fill-opacity:.7}";

fn main() -> deepgp::Result<()> {
    let data = step_curve(80, 5);
    let grid = Mat::from_fn(400, 1, |i, _| X.0 + (X.1 - X.0) * i as f64 / 399.0);
    let (width, height) = (2.0 * (LEFT + PANEL.0 + GAP), TOP + PANEL.1 + BOTTOM);
    println!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="A step, learnt by one layer and by three">"#
    );
    println!(r#"<style>{STYLE}</style><rect width="{width}" height="{height}" class="paper"/>"#);
    for (panel, (hidden_layers, name)) in [(0, "One layer"), (2, "Three layers")].into_iter().enumerate() {
        let fit = fit(&data, hidden_layers)?;
        let predictor = fit.predictor(PredictSettings { samples: 400, ..PredictSettings::default() })?;
        let mean = predictor.moments(grid.view())?.f.mean;
        let band = predictor.quantiles(grid.view(), &[0.025, 0.975])?;
        let score = predictor.score(&step_curve(2000, 6))?;
        let left = LEFT + panel as f64 * (LEFT + PANEL.0 + GAP);
        let title = format!("{name}: test log likelihood {:.2}", score.log_likelihood);
        print!("{}", draw(left, &title, &data, &grid, &mean, &band));
    }
    print!("{}", legend(0.5 * width - 210.0, height - 18.0));
    println!("</svg>");
    Ok(())
}

/// A model of so many hidden layers, trained on all rows.
fn fit(data: &Dataset, hidden_layers: usize) -> deepgp::Result<Regressor> {
    let settings = FitSettings {
        model: ModelSettings {
            hidden_layers,
            width: 3,
            inducing: InducingSize::decoupled(40, 20),
            ..ModelSettings::default()
        },
        train: TrainSettings { steps: 4000, ..TrainSettings::default() },
        validation: None,
        ..FitSettings::default()
    };
    Ok(Regressor::fit(data, &settings, |_, _| ControlFlow::Continue(()))?.regressor)
}

/// A panel as SVG: title, grid, band, observations and mean.
fn draw(left: f64, title: &str, data: &Dataset, grid: &Mat, mean: &Mat, band: &Mat) -> String {
    let (right, bottom) = (left + PANEL.0, TOP + PANEL.1);
    let at = |x: f64, y: f64| {
        let across = left + PANEL.0 * (x - X.0) / (X.1 - X.0);
        (across, bottom - PANEL.1 * (y.clamp(Y.0, Y.1) - Y.0) / (Y.1 - Y.0))
    };
    let path = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        points.fold(String::new(), |mut path, (x, y)| {
            let (px, py) = at(x, y);
            let _ = write!(path, "{px:.1},{py:.1} ");
            path
        })
    };
    let mut out = format!("<text x=\"{left}\" y=\"{}\" class=\"title\">{title}</text>\n", TOP - 14.0);
    for tick in TICKS {
        let (px, py) = at(tick, tick);
        let label = if tick < 0.0 { format!("−{}", -tick) } else { tick.to_string() };
        let _ = writeln!(out, r#"<path d="M{px:.1} {TOP}V{bottom}M{left} {py:.1}H{right}" class="grid"/>"#);
        let _ = writeln!(
            out,
            r#"<text x="{px:.1}" y="{}" text-anchor="middle" class="muted">{label}</text>"#,
            bottom + 17.0
        );
        let _ = writeln!(
            out,
            r#"<text x="{}" y="{:.1}" text-anchor="end" class="muted">{label}</text>"#,
            left - 6.0,
            py + 4.5
        );
    }
    let n = grid.nrows();
    let upper = (0..n).map(|i| (grid[(i, 0)], band[(i, 1)]));
    let lower = (0..n).rev().map(|i| (grid[(i, 0)], band[(i, 0)]));
    let _ = writeln!(out, r#"<polygon points="{}" class="band"/>"#, path(&mut upper.chain(lower)));
    for i in 0..data.len() {
        let (px, py) = at(data.x()[(i, 0)], data.y()[(i, 0)]);
        let _ = writeln!(out, r#"<circle cx="{px:.1}" cy="{py:.1}" r="2.4" class="data"/>"#);
    }
    let line = path(&mut (0..n).map(|i| (grid[(i, 0)], mean[(i, 0)])));
    let _ = writeln!(out, r#"<polyline points="{line}" class="mean"/>"#);
    out
}

/// The legend as SVG, in one line with this left end and baseline.
fn legend(left: f64, baseline: f64) -> String {
    let middle = baseline - 4.5;
    let entries = [
        (0.0, format!(r#"<circle cx="14" cy="{middle}" r="2.4" class="data"/>"#), "80 observations"),
        (158.0, format!(r#"<path d="M0 {middle}h24" class="mean"/>"#), "mean"),
        (
            244.0,
            format!(r#"<rect y="{}" width="24" height="12" class="band"/>"#, middle - 6.0),
            "95 % of new observations",
        ),
    ];
    let entry = |(x, swatch, name): (f64, String, &str)| {
        let left = left + x;
        format!(
            "<g transform=\"translate({left})\">{swatch}<text x=\"30\" y=\"{baseline}\" class=\"muted\">{name}</text></g>\n"
        )
    };
    entries.map(entry).concat()
}
