// Likelihoods. The log likelihood of a row is a sum of independent terms; a term reads LATENTS latent functions, OBSERVED columns of y and
// PARAMETERS parameters, each its own (for Gaussian noise one of each, for classes a latent function for each class and one column).
// These three are written out for the likelihood at hand, whose own file, of the folder `likelihood`, follows this text. A likelihood is a
// struct with functions under the names that they have in the library:
//
//   expected_log_density   E log p(y | f) for f ~ N(mean, variance); leaves `weight` times its gradients in `bars`
//   log_expected_power     log E p(y | f)^power, likewise; only the predictive objective asks for it
//   conditional_gain       what the tighter bound adds, which only Gaussian noise has
//
// A likelihood that has them not in closed form takes expectations by Gauss-Hermite quadrature. `data_term.rs` writes its rule out before
// it: NODES, and the arrays `node`, `node_weight` and `node_log_weight`.

// Array sizes, of which none may be 0.
#define THETA_SIZE (PARAMETERS > 0 ? PARAMETERS : 1)

// What a likelihood sees of one term of a row.
struct Term {
    double y[OBSERVED], mean[LATENTS], variance[LATENTS], theta[THETA_SIZE];
};

// Gradients at a term.
struct TermBars {
    double mean[LATENTS], variance[LATENTS], theta[THETA_SIZE];
};

// log E N(y; f, noise)^power for f ~ N(mean, variance), and its slopes.
struct NormalPower {
    double value, mean, variance, log_noise;
};

// With w = variance + noise / power: log N(residual; 0, w) + 1/2 ln(2 pi noise / power) - power/2 ln(2 pi noise).
__device__ __forceinline__ NormalPower normal_power(double power, double residual, double variance, double noise,
                                                    double log_noise) {
    const double w = variance + noise / power, scaled = residual * residual / w, slope = 0.5 * (scaled - 1) / w;
    const double factor = 0.5 * (log(TAU / power) + log_noise) - 0.5 * power * (log(TAU) + log_noise);
    return {factor - 0.5 * (log(TAU * w) + scaled), residual / w, slope, 0.5 - 0.5 * power + noise / power * slope};
}

// The logarithm of the sum of exp(each); leaves in `each` the shares of that sum.
template <int N> __device__ __forceinline__ double to_shares(double (&each)[N]) {
    double largest = each[0], sum = 0;
    for (int j = 1; j < N; j++)
        if (each[j] > largest) largest = each[j];
    for (int j = 0; j < N; j++) sum += each[j] = exp(each[j] - largest);
    for (int j = 0; j < N; j++) each[j] /= sum;
    return largest + log(sum);
}

// The digamma function of a positive number: by psi(x) = psi(x + 1) - 1 / x up to where its asymptotic series holds.
__device__ __forceinline__ double digamma(double x) {
    double below = 0;
    for (; x < 10; x++) below += 1 / x;
    const double square = 1 / (x * x);
    // The coefficients are B_2k / 2k, with the Bernoulli numbers B_2k.
    const double series[] = {1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12};
    double tail = 0;
    for (int k = 6; k >= 0; k--) tail = (tail + series[k]) * square;
    return log(x) - 0.5 / x - tail - below;
}
