// Gaussian noise, y = f + noise, where theta is the noise's variance.
struct Gaussian {
    static __device__ __forceinline__ double expected_log_density(const Term &at, double weight, TermBars &bars) {
        const double s = at.theta[0], residual = at.y[0] - at.mean[0], square = residual * residual + at.variance[0];
        bars.mean[0] = weight * residual / s;
        bars.variance[0] = -0.5 * weight / s;
        bars.theta[0] = 0.5 * weight * (square / s - 1) / s;
        return -0.5 * (log(TAU * s) + square / s);
    }

    static __device__ __forceinline__ double log_expected_power(double power, const Term &at, double weight, TermBars &bars) {
        const double s = at.theta[0];
        const NormalPower own = normal_power(power, at.y[0] - at.mean[0], at.variance[0], s, log(s));
        bars.mean[0] = weight * own.mean;
        bars.variance[0] = weight * own.variance;
        bars.theta[0] = weight * own.log_noise / s;
        return own.value;
    }
};
