// Gaussian noise that depends on the inputs, y ~ N(f, theta exp g): the latent functions of a term are f and g. The noise's logarithm is kept
// between two bounds, as in the library.
struct Heteroscedastic {
    struct LogNoise {
        double value;
        bool low, high; // whether it wanted to be lower, or higher
    };

    // A logarithm between the bounds; one that is no number stays so.
    static __device__ __forceinline__ LogNoise bounded(double wanted) {
        const double lowest = log(NOISE_FLOOR), highest = log(NOISE_CEILING);
        const bool low = wanted < lowest, high = wanted > highest;
        return {low ? lowest : high ? highest : wanted, low, high};
    }

    // In closed form, with the precision p = exp(v_g / 2 - m_g) / theta.
    static __device__ __forceinline__ double expected_log_density(const Term &at, double weight, TermBars &bars) {
        const LogNoise noise = bounded(log(at.theta[0]) + at.mean[1]);
        const double doubt = 0.5 * at.variance[1], precision = exp((doubt > MOST_DOUBT ? MOST_DOUBT : doubt) - noise.value);
        const double residual = at.y[0] - at.mean[0], share = precision * (residual * residual + at.variance[0]);
        const double slope = 0.5 * (share - 1);
        bars.mean[0] = weight * precision * residual;
        bars.variance[0] = -0.5 * weight * precision;
        // At the floor the noise may rise, and not fall.
        bars.mean[1] = noise.low && slope < 0 ? 0 : weight * slope;
        bars.variance[1] = doubt < MOST_DOUBT ? -0.25 * weight * share : 0;
        bars.theta[0] = bars.mean[1] / at.theta[0];
        return -0.5 * (log(TAU) + noise.value + share);
    }

    // The noise's logarithm at a node of the quadrature over g.
    static __device__ __forceinline__ LogNoise at_node(const Term &at, int j) {
        return bounded(log(at.theta[0]) + at.mean[1] + sqrt(at.variance[1]) * node[j]);
    }

    static __device__ __forceinline__ NormalPower power_at(double power, const Term &at, LogNoise noise) {
        return normal_power(power, at.y[0] - at.mean[0], at.variance[0], exp(noise.value), noise.value);
    }

    // In closed form in f, by quadrature over g. Each node counts by its share of the sum; ln noise_j moves with m_g, with ln theta, and by
    // x_j / 2 sqrt(v_g) with v_g, unless it is at a bound.
    static __device__ __forceinline__ double log_expected_power(double power, const Term &at, double weight, TermBars &bars) {
        double each[NODES];
        for (int j = 0; j < NODES; j++) each[j] = node_log_weight[j] + power_at(power, at, at_node(at, j)).value;
        const double total = to_shares(each), deviation = sqrt(at.variance[1]);
        bars = {};
        for (int j = 0; j < NODES; j++) {
            const LogNoise noise = at_node(at, j);
            const NormalPower own = power_at(power, at, noise);
            const double share = weight * each[j], of_noise = noise.low || noise.high ? 0 : share * own.log_noise;
            bars.mean[0] += share * own.mean;
            bars.variance[0] += share * own.variance;
            bars.mean[1] += of_noise;
            bars.variance[1] += deviation > 0 ? of_noise * node[j] / (2 * deviation) : 0;
        }
        bars.theta[0] = bars.mean[1] / at.theta[0];
        return total;
    }
};
