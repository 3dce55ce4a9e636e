// Counts of mean exp(level + f) that vary more than at a known rate, where theta is the level, and then the dispersion r.

// ln Gamma(x + n) - ln Gamma(x) - n ln x, by Stirling's series where x is large and little is left of the difference.
__device__ __forceinline__ double stirling(double x) { return (1. / 12 - (1. / 360 - 1 / (1260 * x * x)) / (x * x)) / x; }

__device__ __forceinline__ double ln_rising_factorial(double x, double n) {
    if (x < 30) return lgamma(x + n) - lgamma(x) - n * log(x);
    return (x + n - 0.5) * log1p(n / x) - n + stirling(x + n) - stirling(x);
}

struct DispersedCurve {
    double y, level, dispersion, log_dispersion, constant, constant_slope;

    // ln(1 + exp g) with g = level + f - ln r, and the logistic function of g and of -g.
    __device__ __forceinline__ void parts(double f, double &log, double &above, double &below) const {
        const double g = level + f - log_dispersion, tail = exp(-fabs(g)), near = 1 / (1 + tail), far = tail / (1 + tail);
        above = g > 0 ? near : far;
        below = g > 0 ? far : near;
        log = (g > 0 ? g : 0) + log1p(tail);
    }

    __device__ __forceinline__ Jet at(double f) const {
        double log, above, below;
        parts(f, log, above, below);
        const double total = y + dispersion;
        return {constant + y * (level + f) - total * log, y - total * above, -total * above * below};
    }

    __device__ __forceinline__ void add_slopes(double f, double slope, double share, double (&theta)[THETA_SIZE]) const {
        double log, above, below;
        parts(f, log, above, below);
        theta[0] += share * slope;
        theta[1] += share * (constant_slope - log + (y + dispersion) * above / dispersion);
    }
};

struct NegativeBinomial : LogConcave<NegativeBinomial> {
    static constexpr double resolution = 0.6;

    static __device__ __forceinline__ DispersedCurve curve(const Term &at) {
        const double y = at.y[0], r = at.theta[1];
        return {y, at.theta[0], r, log(r), ln_rising_factorial(r, y) - lgamma(y + 1), digamma(r + y) - digamma(r) - y / r};
    }
};
