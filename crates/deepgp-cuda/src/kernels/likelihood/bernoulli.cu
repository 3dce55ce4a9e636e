// Two classes, y = 1 with the probability Phi(level + f) (probit) or 1 / (1 + exp(-level - f)) (logit), where theta is the level.

constexpr double CLASS_RESOLUTION = 0.8;

struct ProbitCurve {
    double level, side;

    __device__ __forceinline__ Jet at(double f) const {
        const double x = side * (level + f);
        double value, slope;
        log_cumulative(x, value, slope);
        return {value, side * slope, -slope * (slope + x)};
    }

    __device__ __forceinline__ void add_slopes(double, double slope, double share, double (&theta)[THETA_SIZE]) const {
        theta[0] += share * slope;
    }
};

struct LogitCurve {
    double level, side;

    __device__ __forceinline__ Jet at(double f) const {
        const Jet own = log_logistic(side * (level + f));
        return {own.value, side * own.slope, own.curvature};
    }

    __device__ __forceinline__ void add_slopes(double, double slope, double share, double (&theta)[THETA_SIZE]) const {
        theta[0] += share * slope;
    }
};

struct Probit : LogConcave<Probit> {
    static constexpr double resolution = CLASS_RESOLUTION;

    static __device__ __forceinline__ ProbitCurve curve(const Term &at) { return {at.theta[0], 2 * at.y[0] - 1}; }

    // The predictive probability is Phi(z) with z = side (level + m) / sqrt(1 + v).
    static __device__ __forceinline__ double log_expected_power(double power, const Term &at, double weight, TermBars &bars) {
        if (power != 1) return LogConcave<Probit>::log_expected_power(power, at, weight, bars);
        const double side = 2 * at.y[0] - 1, spread = 1 + at.variance[0], z = side * (at.theta[0] + at.mean[0]) / sqrt(spread);
        double value, slope;
        log_cumulative(z, value, slope);
        bars.theta[0] = bars.mean[0] = weight * side * slope / sqrt(spread);
        bars.variance[0] = -0.5 * weight * z * slope / spread;
        return value;
    }
};

struct Logit : LogConcave<Logit> {
    static constexpr double resolution = CLASS_RESOLUTION;

    static __device__ __forceinline__ LogitCurve curve(const Term &at) { return {at.theta[0], 2 * at.y[0] - 1}; }
};
