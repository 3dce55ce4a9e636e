// Several classes, of the probabilities softmax(level + f), where theta is the level of each class and y the number of the class. The bound is
// the library's tilted one (tilted_bound.rs), and powers are integrals over the time of a race (race.rs), where both are derived. Two
// classes are the logit of their difference.

// The bound g(a) on E log sum exp, and the softmax at a.
__device__ __forceinline__ double tilted_at(const double (&mean)[LATENTS], const double (&variance)[LATENTS],
                                            const double (&a)[LATENTS], double (&softmax)[LATENTS]) {
    double square = 0;
    for (int j = 0; j < LATENTS; j++) {
        softmax[j] = mean[j] + (0.5 - a[j]) * variance[j];
        square += a[j] * a[j] * variance[j];
    }
    return 0.5 * square + to_shares(softmax);
}

// The least such bound, and the a at which it is, by Newton's method.
__device__ __forceinline__ double tilted_bound(const double (&mean)[LATENTS], const double (&variance)[LATENTS],
                                               double (&a)[LATENTS]) {
    double softmax[LATENTS], step[LATENTS];
    for (int j = 0; j < LATENTS; j++) a[j] = mean[j];
    to_shares(a);
    double value = tilted_at(mean, variance, a, softmax);
    for (int round = 0; round < 100; round++) {
        double coupled = 0, weights = 0, farthest = 0;
        for (int j = 0; j < LATENTS; j++) {
            const double s = softmax[j], d = 1 + s * variance[j];
            farthest = fmax(farthest, fabs(s - a[j]));
            step[j] = (s - a[j]) / d;
            coupled += s * variance[j] * step[j];
            weights += s / d;
        }
        if (farthest <= 1e-11 || value != value) break;
        for (int j = 0; j < LATENTS; j++) step[j] += softmax[j] / (1 + softmax[j] * variance[j]) * coupled / weights;
        double scale = 1;
        for (int halving = 0; halving < 40; halving++, scale *= 0.5) {
            for (int j = 0; j < LATENTS; j++) a[j] += scale * step[j];
            const double next = tilted_at(mean, variance, a, softmax);
            if (next <= value + 1e-12 * fmax(fabs(value), 1.)) {
                value = next;
                break;
            }
            for (int j = 0; j < LATENTS; j++) a[j] -= scale * step[j];
        }
    }
    return value;
}

constexpr double RACE_STEP = 0.55, RACE_NEGLIGIBLE = 18, RACE_DEVIATION = 10;
// The lattices of clock.rs: when four nodes do, the largest step in units of the deviation, how far they reach, and how fine they can be.
constexpr double CLOCK_SMALL = 0.1, CLOCK_STEP = 0.9, CLOCK_REACH = 6.5;
constexpr int CLOCK_PHASES = 8;
// The x from which on exp(-x) is below 1e-18, and does not count.
constexpr double RACE_SILENCE = 41.446531673892822;

// The expectations over one class's Gaussian at a time: E r^power exp(-x), that times x, and its slope in the deviation, where r leaves out the
// time and the mean.
struct Clock {
    double value, ringing, in_deviation;

    // At the time t, for the mean m and the deviation s. `power` is 0 but for the class whose power is asked for.
    __device__ __forceinline__ Clock(double t, double m, double s, double power) : value(0), ringing(0), in_deviation(0) {
        if (s < CLOCK_SMALL) {
            for (int i = 0; i < 4; i++) {
                const double z = (i % 2 ? 1 : -1) * (i < 2 ? INNER_NODE : OUTER_NODE), x = t * exp(m + s * z);
                const double share = add(i < 2 ? INNER_WEIGHT : OUTER_WEIGHT, x, power * s * z);
                in_deviation += share * (power - x) * z;
            }
            return;
        }
        int phases = 1;
        while (RACE_STEP / phases > CLOCK_STEP * s && phases < CLOCK_PHASES) phases *= 2;
        const double delta = RACE_STEP / phases;
        const int side = int(ceil(CLOCK_REACH * s / delta));
        for (int l = -side; l <= side; l++) {
            const double z = l * delta / s, weight = delta / s * exp(-0.5 * z * z) / sqrt(TAU);
            const double share = add(weight, t * exp(m + l * delta), power * l * delta);
            in_deviation += share * (z * z - 1) / s;
        }
    }

    // Adds a point of this weight, and returns what it adds.
    __device__ __forceinline__ double add(double weight, double x, double log_power) {
        const double share = x > RACE_SILENCE ? 0 : weight * exp(log_power - x);
        value += share;
        ringing += share * x;
        return share;
    }
};

// log E softmax_y^power, and its slopes.
__device__ __forceinline__ double race_power(double power, int y, const double (&means)[LATENTS],
                                             const double (&variance)[LATENTS], double (&in_mean)[LATENTS],
                                             double (&in_variance)[LATENTS]) {
    double largest = means[0], left = -1e300, right = 1e300, moment = 0;
    for (int j = 1; j < LATENTS; j++) largest = means[j] > largest ? means[j] : largest;
    const double shift = RACE_STEP * round(largest / RACE_STEP), rate = 1 + power;
    double mean[LATENTS], deviation[LATENTS];
    for (int j = 0; j < LATENTS; j++) {
        const double m = mean[j] = means[j] - shift, s = deviation[j] = fmin(sqrt(variance[j]), RACE_DEVIATION);
        const double reach = rate * rate * s * s < 2 * RACE_NEGLIGIBLE ? RACE_NEGLIGIBLE / rate + 0.5 * rate * s * s
                                                                      : sqrt(2 * RACE_NEGLIGIBLE) * s;
        left = fmax(left, m + reach);
        right = fmin(right, log(RACE_NEGLIGIBLE) + sqrt(2 * RACE_NEGLIGIBLE) * s - m);
        moment += exp(m + 0.5 * s * s);
        in_mean[j] = in_variance[j] = 0;
    }
    const double first = floor((-left - 0.5 * log(double(LATENTS))) / RACE_STEP);
    const double times = fmax(ceil(right / RACE_STEP) - first, 1.) + 1, step = RACE_STEP / tgamma(power);
    const double centre = RACE_STEP * round(log(moment) / RACE_STEP);
    double known = 0, won = 0, ringing = 0, moved = 0;
    for (int i = 0; i < times; i++) {
        const double t = exp((first + i) * RACE_STEP), own = pow(t, power);
        const Clock winner(t, mean[y], deviation[y], power);
        double silence[LATENTS], rings[LATENTS], moves[LATENTS], others = own * step;
        for (int j = 0; j < LATENTS; j++) {
            if (j == y) continue;
            const Clock clock(t, mean[j], deviation[j], 0);
            others *= silence[j] = clock.value;
            rings[j] = clock.ringing;
            moves[j] = clock.in_deviation;
        }
        known += step * own * exp(power * centre - t * exp(centre));
        won += winner.value * others;
        ringing += winner.ringing * others;
        moved += winner.in_deviation * others;
        for (int j = 0; j < LATENTS; j++) {
            if (j == y || !(silence[j] > 0)) continue;
            const double rest = winner.value * others / silence[j];
            in_mean[j] -= rest * rings[j];
            in_variance[j] += rest * moves[j];
        }
    }
    const double s = deviation[y], share = exp(0.5 * power * power * s * s - power * centre) * (1 - known);
    const double total = share + won;
    in_mean[y] = power * total - ringing;
    in_variance[y] = share * power * power * s + moved;
    for (int j = 0; j < LATENTS; j++) {
        in_mean[j] /= total;
        in_variance[j] = deviation[j] < RACE_DEVIATION ? half_over(in_variance[j] / total, deviation[j]) : 0;
    }
    return power * mean[y] + log(total);
}

struct Softmax {
    // The means with their levels.
    static __device__ __forceinline__ void with_levels(const Term &at, double (&mean)[LATENTS]) {
        for (int j = 0; j < LATENTS; j++) mean[j] = at.mean[j] + at.theta[j];
    }

    // Two classes as one of their difference.
    static __device__ __forceinline__ double leave_difference(const Expectation &own, double weight, TermBars &bars) {
        for (int j = 0; j < LATENTS; j++) {
            bars.theta[j] = bars.mean[j] = (j ? 1 : -1) * weight * own.mean;
            bars.variance[j] = weight * own.variance;
        }
        return own.value;
    }

    static __device__ __forceinline__ LogitCurve difference(const Term &at) {
        return {at.theta[LATENTS - 1] - at.theta[0], 2 * at.y[0] - 1};
    }

    static __device__ __forceinline__ double expected_log_density(const Term &at, double weight, TermBars &bars) {
        if (LATENTS == 2) {
            double unused[THETA_SIZE] = {};
            const double mean = at.mean[LATENTS - 1] - at.mean[0], variance = at.variance[0] + at.variance[LATENTS - 1];
            return leave_difference(expected_curve(difference(at), mean, variance, CLASS_RESOLUTION, unused), weight, bars);
        }
        double mean[LATENTS], a[LATENTS];
        with_levels(at, mean);
        const double bound = tilted_bound(mean, at.variance, a);
        for (int j = 0; j < LATENTS; j++) {
            bars.theta[j] = bars.mean[j] = weight * ((j == int(at.y[0])) - a[j]);
            bars.variance[j] = -0.5 * weight * a[j] * (1 - a[j]);
        }
        return mean[int(at.y[0])] - bound;
    }

    static __device__ __forceinline__ double log_expected_power(double power, const Term &at, double weight, TermBars &bars) {
        if (LATENTS == 2) {
            double unused[THETA_SIZE] = {};
            const double mean = at.mean[LATENTS - 1] - at.mean[0], variance = at.variance[0] + at.variance[LATENTS - 1];
            const Expectation own = log_expected_curve(difference(at), power, mean, variance, CLASS_RESOLUTION, unused);
            return leave_difference(own, weight, bars);
        }
        double mean[LATENTS], in_mean[LATENTS], in_variance[LATENTS];
        with_levels(at, mean);
        const double value = race_power(power, int(at.y[0]), mean, at.variance, in_mean, in_variance);
        for (int j = 0; j < LATENTS; j++) {
            bars.theta[j] = bars.mean[j] = weight * in_mean[j];
            bars.variance[j] = weight * in_variance[j];
        }
        return value;
    }
};
