// The data term of an objective. Before this text stand likelihoods.cu, the likelihood of the model at hand, objectives.cu, and the type Objective:
// an objective with its likelihood.

// Gradients at the last layer's moments, [rows, latents], and partial sums a block of the data term, of the gradients of the likelihood's
// parameters, and where there are logits of those at the logarithms of samples' weights, [blocks, 1 + parameters + samples]. Unless it is null,
// `conditional_bar` gets the gradient at each row's conditional variance. A thread for each row of the last layer, which is a sample of a row of the batch.
extern "C" __global__ void data_term(const REAL *mean, const REAL *variance, const REAL *conditional, const double *y,
                                     const double *weights, const double *offsets, const unsigned *ids,
                                     const double *theta, const double *logits, int rows, int samples, int latents,
                                     int observed, int parameters, double power, const Step *steps, const Control *control, REAL *mean_bar, REAL *variance_bar,
                                     REAL *conditional_bar, double *partial) {
    __shared__ double sums[32];
    const int row = blockIdx.x * blockDim.x + threadIdx.x, terms = latents / LATENTS, sites = logits ? samples : 0;
    const bool there = row < rows;
    const unsigned *own_ids = ids + (size_t)control->cursor * (rows / samples);
    const double log_total = log_total_of(logits, samples);
    const Rows all = {mean,    variance, conditional, y,        weights, theta, offsets,   logits,
                      own_ids, samples,  latents,     observed, terms,   power, log_total, steps[control->cursor]};
    // Threads beyond the last row compute nothing, but take part in sums.
    Objective objective(all, there ? row : 0);
    if (!there) objective.total = 0;
    partial += (size_t)blockIdx.x * (1 + parameters + sites);
    for (int t = 0; t < terms; t++) {
        TermBars bars = {};
        if (there) {
            objective.add(all.term(row, t), bars);
            for (int i = 0; i < LATENTS; i++) {
                mean_bar[(size_t)row * latents + t * LATENTS + i] = bars.mean[i];
                variance_bar[(size_t)row * latents + t * LATENTS + i] = bars.variance[i];
            }
        }
        for (int i = 0; i < PARAMETERS; i++) {
            const double sum = block_sum(bars.theta[i], sums);
            if (threadIdx.x == 0) partial[1 + i * terms + t] = sum;
        }
    }
    if (there && conditional_bar) conditional_bar[row] = objective.conditional_bar();
    for (int s = 0; s < sites; s++) {
        const double sum = block_sum(there && row % samples == s ? objective.log_weight_bar() : 0, sums);
        if (threadIdx.x == 0) partial[1 + parameters + s] = sum;
    }
    const double total = block_sum(objective.total, sums);
    if (threadIdx.x == 0) partial[0] = total;
}
