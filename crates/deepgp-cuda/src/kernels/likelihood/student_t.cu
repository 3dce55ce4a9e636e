// Student's t, y = f + noise whose tails fall like a power: theta is the squared scale s, then the degrees of freedom nu. Expectations are by
// quadrature, and gradients those of the rule.
struct StudentT {
    // What the log density and its slopes are made of that does not depend on the row.
    double s, nu, peak, peak_slope;

    __device__ __forceinline__ StudentT(const Term &at) : s(at.theta[0]), nu(at.theta[1]) {
        const double upper = 0.5 * (nu + 1), lower = 0.5 * nu;
        peak = lgamma(upper) - lgamma(lower) - 0.5 * log(0.5 * TAU * nu * s);
        peak_slope = 0.5 * (digamma(upper) - digamma(lower) - 1 / nu);
    }

    // A log density and its slopes in f, s and nu.
    struct Slopes {
        double value, f, noise, degrees;
    };

    __device__ __forceinline__ Slopes slopes(double residual) const {
        const double square = residual * residual, pull = (nu + 1) / (nu * s + square), spread = log1p(square / (nu * s));
        return {peak - 0.5 * (nu + 1) * spread, pull * residual, 0.5 * (pull * square - 1) / s,
                peak_slope + 0.5 * (pull * square / nu - spread)};
    }

    // The density at a node of the quadrature over f.
    __device__ __forceinline__ Slopes at_node(const Term &at, int j) const {
        return slopes(at.y[0] - at.mean[0] - sqrt(at.variance[0]) * node[j]);
    }

    // Adds the slopes at a node, which counts by `share`.
    static __device__ __forceinline__ void add(const Slopes &own, const Term &at, int j, double share, TermBars &bars) {
        bars.mean[0] += share * own.f;
        bars.variance[0] += share * own.f * node[j] / (2 * sqrt(at.variance[0]));
        bars.theta[0] += share * own.noise;
        bars.theta[1] += share * own.degrees;
    }

    static __device__ __forceinline__ double expected_log_density(const Term &at, double weight, TermBars &bars) {
        const StudentT density(at);
        double total = 0;
        bars = {};
        for (int j = 0; j < NODES; j++) {
            const Slopes own = density.at_node(at, j);
            total += node_weight[j] * own.value;
            add(own, at, j, weight * node_weight[j], bars);
        }
        return total;
    }

    static __device__ __forceinline__ double log_expected_power(double power, const Term &at, double weight, TermBars &bars) {
        const StudentT density(at);
        double each[NODES];
        for (int j = 0; j < NODES; j++) each[j] = node_log_weight[j] + power * density.at_node(at, j).value;
        const double total = to_shares(each);
        bars = {};
        for (int j = 0; j < NODES; j++) add(density.at_node(at, j), at, j, weight * power * each[j], bars);
        return total;
    }
};
