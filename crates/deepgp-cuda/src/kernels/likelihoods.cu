// Likelihoods. The log likelihood of a row is a sum of independent terms; a term reads LATENTS latent functions, OBSERVED columns of y and
// PARAMETERS parameters, each its own (for Gaussian noise one of each, for classes a latent function for each class and one column).
// These three are written out for the likelihood at hand. A likelihood is a struct with a function under the name that it has in the
// library:
//
//   expected_log_density   E log p(y | f) for f ~ N(mean, variance); leaves `weight` times its gradients in `bars`
//
// A likelihood that has it not in closed form takes the expectation by Gauss-Hermite quadrature. Its nodes and weights would stand here,
// as arrays that `data_term.rs` writes out before this text; none needs them yet.

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

// y = f + noise, where theta is the noise's variance.
struct Gaussian {
    static __device__ __forceinline__ double expected_log_density(const Term &at, double weight, TermBars &bars) {
        const double s = at.theta[0], residual = at.y[0] - at.mean[0], square = residual * residual + at.variance[0];
        bars.mean[0] = weight * residual / s;
        bars.variance[0] = -0.5 * weight / s;
        bars.theta[0] = 0.5 * weight * (square / s - 1) / s;
        return -0.5 * (log(TAU * s) + square / s);
    }
};
