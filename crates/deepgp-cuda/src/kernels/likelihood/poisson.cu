// Counts of events at the rate exp(level + f), where theta is the level.

// The exponent beyond which a rate goes on along its tangent.
constexpr double LARGEST_EXPONENT = 40;

// The rate exp x, and its slope.
__device__ __forceinline__ void rate_at(double x, double &rate, double &slope) {
    slope = exp(x < LARGEST_EXPONENT ? x : LARGEST_EXPONENT);
    rate = slope * (1 + (x > LARGEST_EXPONENT ? x - LARGEST_EXPONENT : 0));
}

struct CountCurve {
    double y, level, log_factorial;

    __device__ __forceinline__ Jet at(double f) const {
        double rate, slope;
        rate_at(level + f, rate, slope);
        return {y * (level + f) - rate - log_factorial, y - slope, slope < rate ? 0 : -slope};
    }

    __device__ __forceinline__ void add_slopes(double, double slope, double share, double (&theta)[THETA_SIZE]) const {
        theta[0] += share * slope;
    }
};

struct Poisson : LogConcave<Poisson> {
    static constexpr double resolution = 0.5;

    static __device__ __forceinline__ CountCurve curve(const Term &at) {
        return {at.y[0], at.theta[0], lgamma(at.y[0] + 1)};
    }

    // In closed form: y (level + m) - exp(level + m + v/2) - ln y!.
    static __device__ __forceinline__ double expected_log_density(const Term &at, double weight, TermBars &bars) {
        const double x = at.theta[0] + at.mean[0];
        double rate, slope;
        rate_at(x + 0.5 * at.variance[0], rate, slope);
        bars.theta[0] = bars.mean[0] = weight * (at.y[0] - slope);
        bars.variance[0] = -0.5 * weight * slope;
        return at.y[0] * x - rate - lgamma(at.y[0] + 1);
    }
};
