// Objectives: how the samples of a row are combined into what the row adds to the data term. An objective is made for one sample of a row,
// from which it may look at all others, and is then given the sample's terms one after the other.

// The last layer's rows, `samples` for each of the batch, and what they are compared with.
struct Rows {
    const REAL *mean, *variance;
    const double *y, *weights, *theta;
    const unsigned *ids; // row numbers of this step's batch
    int samples, latents, observed, terms;
    Step step;

    // The weight of a sample of a row in the data term, where all samples count alike.
    __device__ __forceinline__ double share(int row) const {
        const int in_batch = row / samples;
        return in_batch < step.live ? step.scale * (weights ? weights[ids[in_batch]] : 1) : 0;
    }

    // Term t of a sample of a row. The likelihood's parameters stand in theta one kind after the other.
    __device__ __forceinline__ Term term(int row, int t) const {
        const size_t first = (size_t)row * latents + t * LATENTS;
        Term term;
        for (int i = 0; i < OBSERVED; i++) term.y[i] = y[(size_t)ids[row / samples] * observed + t * OBSERVED + i];
        for (int i = 0; i < LATENTS; i++) term.mean[i] = mean[first + i], term.variance[i] = variance[first + i];
        for (int i = 0; i < PARAMETERS; i++) term.theta[i] = theta[i * terms + t];
        return term;
    }
};

// The evidence lower bound: the mean over samples of expected log densities.
template <class Likelihood> struct Elbo {
    double weight; // on the gradients of this sample
    double total;  // what the sample adds to the data term

    __device__ __forceinline__ Elbo(const Rows &rows, int row) : weight(rows.share(row)), total(0) {}

    // Adds a term, and leaves its gradients in `bars`.
    __device__ __forceinline__ void add(const Term &term, TermBars &bars) {
        total += weight * Likelihood::expected_log_density(term, weight, bars);
    }
};
