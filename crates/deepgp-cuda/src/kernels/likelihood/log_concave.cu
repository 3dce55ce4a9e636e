// Likelihoods of one latent function whose log density is concave in it: two classes, classes in order, counts. Expectations are sums over a
// lattice, as in the library's lattice.rs, where the constants below are explained. A curve is the log density of one observation as a
// function of f, with
//
//   at(f)                              its value, slope and curvature
//   add_slopes(f, slope, share, theta) which adds share times its slopes in the parameters; `slope` is that in f

constexpr double LATTICE_STEP = 0.9, LATTICE_REACH = 7, LATTICE_NEGLIGIBLE = 32, LATTICE_NARROW = 0.25;
// The Gauss-Hermite rule of four nodes: those above 0, and their weights.
constexpr double INNER_NODE = 0.74196378430272586, INNER_WEIGHT = 0.45412414523193151, OUTER_NODE = 2.3344142183389773,
                 OUTER_WEIGHT = 0.045875854768068492;
constexpr int LATTICE_HALVINGS = 6, LATTICE_ROUNDS = 200, LATTICE_TERMS = 4000;

struct Jet {
    double value, slope, curvature;
};

// An expectation under N(f; mean, variance), or its logarithm, with its slopes.
struct Expectation {
    double value, mean, variance;
};

// The slope in v of a function of m + sqrt(v) z; 0 where there is no variance.
__device__ __forceinline__ double half_over(double sum, double deviation) {
    return deviation > 0 ? 0.5 * sum / deviation : 0;
}

// The lattice for functions of m + deviation z that bend over lengths of `resolution`: points from the middle, with weights step phi(z). Four
// nodes where they hardly bend; there is none in the middle then.
struct Lattice {
    double step, half, weight, ratio;
    int side, i;
    bool narrow;

    __device__ __forceinline__ Lattice(double deviation, double resolution)
        : step(LATTICE_STEP), i(0), narrow(deviation <= LATTICE_NARROW * resolution) {
        if (narrow) {
            i = 1, side = 2, weight = INNER_WEIGHT;
            return;
        }
        for (int halvings = 0; step * deviation > resolution && halvings < LATTICE_HALVINGS; halvings++) step *= 0.5;
        side = int(LATTICE_REACH / step) + 1;
        half = exp(-0.5 * step * step);
        weight = step / sqrt(TAU);
        ratio = half;
    }

    __device__ __forceinline__ double z() const { return !narrow ? i * step : i == 1 ? INNER_NODE : OUTER_NODE; }

    // Goes on to the next points, one on either side; false if there are none.
    __device__ __forceinline__ bool next() {
        if (narrow) {
            weight = OUTER_WEIGHT;
        } else {
            weight *= ratio;
            ratio *= half * half;
        }
        return ++i <= side;
    }
};

// The expectation of a curve.
template <class Curve>
__device__ __forceinline__ Expectation expected_curve(const Curve &curve, double mean, double variance, double resolution,
                                                      double (&theta)[THETA_SIZE]) {
    const double deviation = sqrt(variance);
    Expectation sum = {};
    double slope_times_z = 0;
    Lattice lattice(deviation, resolution);
    do {
        for (int side = lattice.i ? -1 : 1; side <= 1; side += 2) {
            const double z = side * lattice.z(), f = mean + deviation * z;
            const Jet jet = curve.at(f);
            sum.value += lattice.weight * jet.value;
            sum.mean += lattice.weight * jet.slope;
            slope_times_z += lattice.weight * jet.slope * z;
            curve.add_slopes(f, jet.slope, lattice.weight, theta);
        }
    } while (lattice.next());
    sum.variance = half_over(slope_times_z, deviation);
    return sum;
}

// The z near which h(z) = power curve(m + s z) - z^2/2 is greatest, by Newton's method in an interval, and the width there.
template <class Curve>
__device__ __forceinline__ void find_mode(const Curve &curve, double power, double mean, double deviation, double &at,
                                          double &width) {
    double low = 0, high = 0, curvature = -1;
    at = 0;
    for (int round = 0; round <= LATTICE_ROUNDS; round++) {
        const Jet jet = curve.at(mean + deviation * at);
        const double slope = power * deviation * jet.slope - at;
        curvature = power * deviation * deviation * jet.curvature - 1;
        if (round == 0) low = slope < 0 ? slope : 0, high = slope > 0 ? slope : 0;
        else if (slope > 0) low = at;
        else high = at;
        const double step = -slope / curvature;
        if (fabs(step) <= 0.1 / sqrt(-curvature) || !(fabs(slope) < 1e300) || round == LATTICE_ROUNDS) break;
        at = at + step > low && at + step < high ? at + step : 0.5 * (low + high);
    }
    width = 1 / sqrt(-curvature);
}

// The logarithm of the expectation of exp(power curve): a sum that goes outwards from the mode until nothing more comes.
template <class Curve>
__device__ __forceinline__ Expectation log_expected_curve(const Curve &curve, double power, double mean, double variance,
                                                          double resolution, double (&theta)[THETA_SIZE]) {
    const double deviation = sqrt(variance);
    double mode, width, step = LATTICE_STEP;
    find_mode(curve, power, mean, deviation, mode, width);
    while (step > LATTICE_STEP * width || step * deviation > resolution) step *= 0.5;
    const double first = round(mode / step), highest_z = first * step;
    const double highest = power * curve.at(mean + deviation * highest_z).value - 0.5 * highest_z * highest_z;
    double total = 0, slopes = 0, slopes_times_z = 0;
    for (int side = -1; side <= 1; side += 2)
        for (int i = side == 1; i < LATTICE_TERMS; i++) {
            const double z = (first + side * i) * step, f = mean + deviation * z;
            const Jet jet = curve.at(f);
            const double log = power * jet.value - 0.5 * z * z, share = exp(log - highest);
            total += share;
            slopes += share * jet.slope;
            slopes_times_z += share * jet.slope * z;
            curve.add_slopes(f, jet.slope, share, theta);
            if (log != log || log - highest < -LATTICE_NEGLIGIBLE) break;
        }
    const double factor = power / total;
    for (int i = 0; i < THETA_SIZE; i++) theta[i] *= factor;
    return {highest + log(total * step / sqrt(TAU)), factor * slopes, half_over(factor * slopes_times_z, deviation)};
}

// A likelihood of such curves: `Own` has a `curve` of a term and the length `resolution` over which it bends.
template <class Own> struct LogConcave {
    static __device__ __forceinline__ double leave(const Expectation &own, const double (&theta)[THETA_SIZE], double weight,
                                                   TermBars &bars) {
        bars.mean[0] = weight * own.mean;
        bars.variance[0] = weight * own.variance;
        for (int i = 0; i < PARAMETERS; i++) bars.theta[i] = weight * theta[i];
        return own.value;
    }

    static __device__ __forceinline__ double expected_log_density(const Term &at, double weight, TermBars &bars) {
        double theta[THETA_SIZE] = {};
        const Expectation own = expected_curve(Own::curve(at), at.mean[0], at.variance[0], Own::resolution, theta);
        return leave(own, theta, weight, bars);
    }

    static __device__ __forceinline__ double log_expected_power(double power, const Term &at, double weight, TermBars &bars) {
        double theta[THETA_SIZE] = {};
        const Expectation own = log_expected_curve(Own::curve(at), power, at.mean[0], at.variance[0], Own::resolution, theta);
        return leave(own, theta, weight, bars);
    }
};

// ln Phi(z) and its slope phi(z) / Phi(z), with all their digits in both tails.
__device__ __forceinline__ void log_cumulative(double z, double &value, double &slope) {
    if (z < -35) {
        const double square = 1 / (z * z), series = 1 - square * (1 - square * (3 - square * (15 - 105 * square)));
        value = -0.5 * (z * z + log(TAU)) - log(-z) + log(series);
        slope = -z / series;
        return;
    }
    const double root = sqrt(0.5), below = 0.5 * erfc(-z * root);
    value = z > 0 ? log1p(-0.5 * erfc(z * root)) : log(below);
    slope = exp(-0.5 * z * z) / sqrt(TAU) / below;
}

// The logarithm of the logistic function, with its slopes.
__device__ __forceinline__ Jet log_logistic(double x) {
    const double tail = exp(-fabs(x)), near = 1 / (1 + tail), far = tail / (1 + tail);
    return {(x < 0 ? x : 0) - log1p(tail), x > 0 ? far : near, -near * far};
}
