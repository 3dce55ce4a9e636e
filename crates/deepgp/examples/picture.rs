//! Draws the picture at the top of the README: a step, seen by one layer and by three.
//!
//! ```text
//! cargo run --release --example picture > docs/step.svg
//! ```

use std::fmt::Write;
use std::ops::ControlFlow;

use deepgp::simulate::step_curve;
use deepgp::{Dataset, FitSettings, InducingSize, Mat, ModelSettings, PredictSettings, Regressor, TrainSettings};

const PANEL: (f64, f64) = (380.0, 260.0);
const GAP: f64 = 24.0;
/// What the axes span.
const X: (f64, f64) = (-1.05, 1.05);
const Y: (f64, f64) = (-1.9, 1.9);

fn main() -> deepgp::Result<()> {
    let data = step_curve(80, 5);
    let grid = Mat::from_fn(400, 1, |i, _| X.0 + (X.1 - X.0) * i as f64 / 399.0);
    let width = 2.0 * PANEL.0 + 3.0 * GAP;
    let height = PANEL.1 + 3.0 * GAP;
    println!(r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">"#);
    println!(r##"<rect width="{width}" height="{height}" fill="#ffffff"/>"##);
    for (panel, hidden_layers) in [0, 2].into_iter().enumerate() {
        let fit = fit(&data, hidden_layers)?;
        let predictor = fit.predictor(PredictSettings { samples: 400, ..PredictSettings::default() })?;
        let mean = predictor.moments(grid.view())?.f.mean;
        let band = predictor.quantiles(grid.view(), &[0.025, 0.975])?;
        let score = predictor.score(&step_curve(2000, 6))?;
        let left = GAP + panel as f64 * (PANEL.0 + GAP);
        let layers = if hidden_layers == 0 { "one layer".into() } else { format!("{} layers", hidden_layers + 1) };
        let title = format!("{layers}: test log likelihood {:.2}", score.log_likelihood);
        print!("{}", draw(left, &title, &data, &grid, &mean, &band));
    }
    println!("</svg>");
    Ok(())
}

fn fit(data: &Dataset, hidden_layers: usize) -> deepgp::Result<Regressor> {
    let settings = FitSettings {
        model: ModelSettings {
            hidden_layers,
            width: 3,
            inducing: Some(InducingSize::Decoupled { mean: 40, covariance: 20 }),
            ..ModelSettings::default()
        },
        train: TrainSettings { steps: 4000, ..TrainSettings::default() },
        validation: None,
        ..FitSettings::default()
    };
    Ok(Regressor::fit(data, &settings, |_, _| ControlFlow::Continue(()))?.regressor)
}

fn draw(left: f64, title: &str, data: &Dataset, grid: &Mat, mean: &Mat, band: &Mat) -> String {
    let top = 2.0 * GAP;
    let at = |x: f64, y: f64| {
        let across = left + PANEL.0 * (x - X.0) / (X.1 - X.0);
        (across, top + PANEL.1 * (1.0 - (y.clamp(Y.0, Y.1) - Y.0) / (Y.1 - Y.0)))
    };
    let path = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        points.fold(String::new(), |mut path, (x, y)| {
            let (px, py) = at(x, y);
            let _ = write!(path, "{px:.1},{py:.1} ");
            path
        })
    };
    let n = grid.nrows();
    let upper = (0..n).map(|i| (grid[(i, 0)], band[(i, 1)]));
    let lower = (0..n).rev().map(|i| (grid[(i, 0)], band[(i, 0)]));
    let mut out = String::new();
    let _ = writeln!(out, r##"<text x="{left}" y="{}" font-size="16" fill="#222222">{title}</text>"##, top - 12.0);
    let _ = writeln!(out, r##"<rect x="{left}" y="{top}" width="{}" height="{}" fill="#f6f7f9"/>"##, PANEL.0, PANEL.1);
    let _ = writeln!(out, r##"<polygon points="{}" fill="#9ec5e8"/>"##, path(&mut upper.chain(lower)));
    for i in 0..data.len() {
        let (px, py) = at(data.x()[(i, 0)], data.y()[(i, 0)]);
        let _ = writeln!(out, r##"<circle cx="{px:.1}" cy="{py:.1}" r="2.4" fill="#222222" fill-opacity="0.7"/>"##);
    }
    let line = path(&mut (0..n).map(|i| (grid[(i, 0)], mean[(i, 0)])));
    let _ = writeln!(out, r##"<polyline points="{line}" fill="none" stroke="#0b4f8a" stroke-width="2.2"/>"##);
    out
}
