//! An increasing spline of rational quadratics (Gregory and Delbourgo 1982) with linear tails: smooth, with slope and inverse in closed form.
//!
//! Between two knots, with `h = y_1 − y_0`, `d = z_1 − z_0`, `s = d / h`, slopes `a` and `b` at the knots and `t = (y − y_0) / h`,
//!
//! ```text
//! z = z_0 + d (s t² + a t (1 − t)) / q        q = s + (a + b − 2s) t (1 − t)
//! dz/dy = s² (b t² + 2 s t (1 − t) + a (1 − t)²) / q²
//! ```
//!
//! which increases whatever the slopes, as long as they are positive. `t` from `z` is a quadratic equation.

/// The most knots that a spline has.
pub const MOST_KNOTS: usize = 32;

/// An increasing function through some knots, linear beyond the first and the last.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "Knots", into = "Knots"))]
pub struct MonotoneSpline {
    /// The values `y` of the knots, increasing.
    y: Vec<f64>,
    /// The values `z` of the knots, increasing.
    z: Vec<f64>,
    /// The slopes `dz/dy` at the knots, positive.
    slope: Vec<f64>,
}

/// The knots of a spline, from which its slopes follow.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
struct Knots {
    y: Vec<f64>,
    z: Vec<f64>,
}

#[cfg(feature = "serde")]
impl TryFrom<Knots> for MonotoneSpline {
    type Error = &'static str;

    fn try_from(Knots { y, z }: Knots) -> Result<Self, Self::Error> {
        Self::new(y, z).ok_or("a spline needs 2 to 32 knots that increase")
    }
}

#[cfg(feature = "serde")]
impl From<MonotoneSpline> for Knots {
    fn from(MonotoneSpline { y, z, .. }: MonotoneSpline) -> Self {
        Self { y, z }
    }
}

impl MonotoneSpline {
    /// The spline through these knots; `None` unless there are 2 to [`MOST_KNOTS`] of them, finite and increasing in `y` and in `z`, with
    /// slopes that are numbers. The slope at a knot is the geometric mean of those of the lines to its neighbours, the nearer one weighing more.
    pub fn new(y: Vec<f64>, z: Vec<f64>) -> Option<Self> {
        let increases = |all: &[f64]| all.iter().all(|v| v.is_finite()) && all.windows(2).all(|pair| pair[0] < pair[1]);
        if !(2..=MOST_KNOTS).contains(&y.len()) || y.len() != z.len() || !increases(&y) || !increases(&z) {
            return None;
        }
        let step = |i: usize| y[i + 1] - y[i];
        let secant = |i: usize| (z[i + 1] - z[i]) / step(i);
        let last = y.len() - 1;
        let at_knot = |i: usize| match i {
            0 => secant(0),
            _ if i == last => secant(last - 1),
            _ => {
                let nearer = step(i) / (step(i - 1) + step(i));
                (nearer * secant(i - 1).ln() + (1.0 - nearer) * secant(i).ln()).exp()
            }
        };
        let slope: Vec<f64> = (0..=last).map(at_knot).collect();
        let usable = slope.iter().all(|v| v.is_finite() && *v > 0.0 && v.recip().is_finite());
        usable.then_some(Self { y, z, slope })
    }

    /// The values `y` and `z` of the knots.
    pub fn knots(&self) -> (&[f64], &[f64]) {
        (&self.y, &self.z)
    }

    /// Where a value lies among the knots, which are `all`.
    fn locate(all: &[f64], value: f64) -> Place {
        match all.partition_point(|knot| *knot <= value) {
            0 => Place::Below,
            after if after == all.len() => Place::Above,
            after => Place::Between(after - 1),
        }
    }

    /// The interval between knots `i` and `i + 1`.
    fn interval(&self, i: usize) -> Interval {
        let (h, d) = (self.y[i + 1] - self.y[i], self.z[i + 1] - self.z[i]);
        Interval { h, d, s: d / h, a: self.slope[i], b: self.slope[i + 1] }
    }

    /// The value `z` at `y`.
    pub(super) fn forward(&self, y: f64) -> f64 {
        let last = self.y.len() - 1;
        match Self::locate(&self.y, y) {
            Place::Below => self.z[0] + self.slope[0] * (y - self.y[0]),
            Place::Above => self.z[last] + self.slope[last] * (y - self.y[last]),
            Place::Between(i) => {
                let own = self.interval(i);
                let t = (y - self.y[i]) / own.h;
                self.z[i] + own.d * t * (own.s * t + own.a * (1.0 - t)) / own.divisor(t)
            }
        }
    }

    /// The value `y` at which the spline is `z`.
    pub(super) fn inverse(&self, z: f64) -> f64 {
        let last = self.y.len() - 1;
        match Self::locate(&self.z, z) {
            Place::Below => self.y[0] + (z - self.z[0]) / self.slope[0],
            Place::Above => self.y[last] + (z - self.z[last]) / self.slope[last],
            Place::Between(i) => {
                let Interval { h, d, s, a, b } = self.interval(i);
                let rise = z - self.z[i];
                let bend = a + b - 2.0 * s;
                let (second, first, constant) = (d * (s - a) + rise * bend, d * a - rise * bend, -s * rise);
                let root = (first * first - 4.0 * second * constant).max(0.0).sqrt();
                self.y[i] + h * (2.0 * constant / (-first - root))
            }
        }
    }

    /// The logarithm of the slope at `y`.
    pub(super) fn log_slope(&self, y: f64) -> f64 {
        match Self::locate(&self.y, y) {
            Place::Below => self.slope[0].ln(),
            Place::Above => self.slope[self.y.len() - 1].ln(),
            Place::Between(i) => {
                let own = self.interval(i);
                let t = (y - self.y[i]) / own.h;
                let rest = 1.0 - t;
                let numerator = own.b * t * t + 2.0 * own.s * t * rest + own.a * rest * rest;
                2.0 * own.s.ln() + numerator.ln() - 2.0 * own.divisor(t).ln()
            }
        }
    }
}

/// Where a value lies among knots.
enum Place {
    /// Before the first.
    Below,
    /// From the knot of this number on, before the next.
    Between(usize),
    /// From the last on.
    Above,
}

/// What the formulas name of the interval between two knots.
struct Interval {
    h: f64,
    d: f64,
    s: f64,
    a: f64,
    b: f64,
}

impl Interval {
    /// The divisor `q`.
    fn divisor(&self, t: f64) -> f64 {
        self.s + (self.a + self.b - 2.0 * self.s) * t * (1.0 - t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_through_its_knots_and_is_smooth_there() {
        let spline = MonotoneSpline::new(vec![0.0, 1.0, 1.1, 4.0, 9.0], vec![-2.0, -1.0, 0.5, 0.6, 3.0]).unwrap();
        let (y, z) = spline.knots();
        for (y, z) in y.iter().zip(z) {
            assert!((spline.forward(*y) - z).abs() < 1e-14 && (spline.inverse(*z) - y).abs() < 1e-13, "{y} {z}");
            let (before, after) = (spline.log_slope(y - 1e-9), spline.log_slope(y + 1e-9));
            assert!((before - after).abs() < 1e-5, "{y}: {before} {after}");
        }
    }

    #[test]
    fn a_line_stays_a_line() {
        let spline = MonotoneSpline::new(vec![1.0, 2.0, 4.0], vec![10.0, 12.0, 16.0]).unwrap();
        for y in [-5.0, 1.0, 1.3, 2.7, 4.0, 100.0] {
            assert!((spline.forward(y) - (8.0 + 2.0 * y)).abs() < 1e-12);
            assert!((spline.log_slope(y) - 2.0f64.ln()).abs() < 1e-14);
        }
    }

    #[test]
    fn knots_that_make_no_increasing_function_are_refused() {
        let two = || vec![0.0, 1.0];
        assert!(MonotoneSpline::new(two(), two()).is_some());
        assert!(MonotoneSpline::new(vec![0.0], vec![0.0]).is_none());
        assert!(MonotoneSpline::new(two(), vec![0.0, 1.0, 2.0]).is_none());
        assert!(MonotoneSpline::new(vec![0.0, 0.0], two()).is_none());
        assert!(MonotoneSpline::new(two(), vec![1.0, 0.0]).is_none());
        assert!(MonotoneSpline::new(two(), vec![0.0, f64::NAN]).is_none());
        assert!(MonotoneSpline::new(vec![0.0, 1e-308], vec![0.0, 1e300]).is_none());
        let many: Vec<f64> = (0..=MOST_KNOTS).map(|i| i as f64).collect();
        assert!(MonotoneSpline::new(many.clone(), many).is_none());
    }
}
