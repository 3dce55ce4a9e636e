// Classes that have an order: a number f with standard normal noise falls between two of several cutpoints, where theta is the first of
// them, and then the distances of each from the one before it.
struct OrderedCurve {
    double low, high; // the cutpoints below and above the class
    int observed;     // the class

    __device__ __forceinline__ bool lowest() const { return observed == 0; }
    __device__ __forceinline__ bool highest() const { return observed == PARAMETERS; }

    // The log probability, and phi of the distance to either cutpoint over the probability.
    __device__ __forceinline__ void parts(double f, double &value, double &below, double &above) const {
        const double a = low - f, b = high - f;
        below = above = 0;
        if (lowest()) return log_cumulative(b, value, above);
        if (highest()) return log_cumulative(-a, value, below);
        // On the side where both are in the lower tail, which has the digits.
        double upper, lower, unused;
        log_cumulative(a + b > 0 ? -a : b, upper, unused);
        log_cumulative(a + b > 0 ? -b : a, lower, unused);
        value = upper + log(-expm1(lower - upper));
        below = exp(-0.5 * (a * a + log(TAU)) - value);
        above = exp(-0.5 * (b * b + log(TAU)) - value);
    }

    __device__ __forceinline__ Jet at(double f) const {
        double value, below, above;
        parts(f, value, below, above);
        const double slope = below - above;
        const double pull = (lowest() ? 0 : (low - f) * below) - (highest() ? 0 : (high - f) * above);
        return {value, slope, pull - slope * slope < 0 ? pull - slope * slope : 0};
    }

    // Cutpoint k contains the first k distances.
    __device__ __forceinline__ void add_slopes(double f, double slope, double share, double (&theta)[THETA_SIZE]) const {
        double value, below, above;
        parts(f, value, below, above);
        theta[0] -= share * slope;
        for (int j = 0; j + 1 < PARAMETERS; j++)
            theta[j + 1] += share * ((j < observed ? above : 0) - (j + 1 < observed ? below : 0));
    }
};

struct Ordered : LogConcave<Ordered> {
    static constexpr double resolution = 0.8;

    static __device__ __forceinline__ OrderedCurve curve(const Term &at) {
        const int observed = int(at.y[0]);
        double low = at.theta[0], high = at.theta[0];
        for (int k = 1; k < PARAMETERS; k++) {
            if (k < observed) low += at.theta[k];
            if (k <= observed) high += at.theta[k];
        }
        return {low, high, observed};
    }
};
