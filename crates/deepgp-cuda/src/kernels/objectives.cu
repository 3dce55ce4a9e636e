// Objectives: how the samples of a row are combined into what the row adds to the data term. An objective is made for one sample of a row,
// from which it may look at all others, and is then given the sample's terms one after the other.

// The last layer's rows, `samples` for each of the batch, and what they are compared with.
struct Rows {
    const REAL *mean, *variance;
    const REAL *conditional; // the conditional variance of each sample, or null where the objective reads none
    const double *y, *weights, *theta;
    const double *offsets; // what is added to the means of each row of the dataset, or null
    const double *logits; // of the samples' weights, or null where all weigh alike
    const unsigned *ids;  // row numbers of this step's batch
    int samples, latents, observed, terms;
    double power;     // of the predictive objective
    double log_total; // of the samples' weights before they are divided by their sum: log sum exp of the logits, or log samples
    Step step;

    // The weight of the row of the batch that a sample belongs to in the data term.
    __device__ __forceinline__ double whole(int row) const {
        const int in_batch = row / samples;
        return in_batch < step.live ? step.scale * (weights ? weights[ids[in_batch]] : 1) : 0;
    }

    __device__ __forceinline__ double log_weight(int s) const { return (logits ? logits[s] : 0) - log_total; }

    // The weight of sample s among those of its row.
    __device__ __forceinline__ double weight(int s) const { return logits ? exp(log_weight(s)) : 1. / samples; }

    // Term t of a sample of a row. The likelihood's parameters stand in theta one kind after the other.
    __device__ __forceinline__ Term term(int row, int t) const {
        const size_t first = (size_t)row * latents + t * LATENTS;
        const unsigned id = ids[row / samples];
        const double offset = offsets ? offsets[id] : 0;
        Term term;
        for (int i = 0; i < OBSERVED; i++) term.y[i] = y[(size_t)id * observed + t * OBSERVED + i];
        for (int i = 0; i < LATENTS; i++) term.mean[i] = mean[first + i] + offset, term.variance[i] = variance[first + i];
        for (int i = 0; i < PARAMETERS; i++) term.theta[i] = theta[i * terms + t];
        return term;
    }
};

// log of what the samples' weights are divided by.
__device__ __forceinline__ double log_total_of(const double *logits, int samples) {
    if (!logits) return log(double(samples));
    LogSum all;
    for (int s = 0; s < samples; s++) all.add(logits[s]);
    return all.total();
}

// The evidence lower bound: the mean over samples of expected log densities.
template <class Likelihood> struct Elbo {
    double weight; // on the gradients of this sample
    double total;  // what the sample adds to the data term

    __device__ __forceinline__ Elbo(const Rows &rows, int row)
        : weight(rows.whole(row) * rows.weight(row % rows.samples)), total(0) {}

    // Adds a term, and leaves its gradients in `bars`.
    __device__ __forceinline__ void add(const Term &term, TermBars &bars) {
        total += weight * Likelihood::expected_log_density(term, weight, bars);
    }

    // The gradient at the logarithm of the sample's weight, after all terms.
    __device__ __forceinline__ double log_weight_bar() const { return total; }

    // The gradient at the sample's conditional variance, after all terms; 0 for an objective that reads none.
    __device__ __forceinline__ double conditional_bar() const { return 0; }
};

// A tighter evidence lower bound, in which the last layer's conditional variance is integrated out and not bounded.
template <class Likelihood> struct Tighter {
    double weight, total;
    double conditional, of_conditional; // the sample's conditional variance, and the gradient at it

    __device__ __forceinline__ Tighter(const Rows &rows, int row)
        : weight(rows.whole(row) * rows.weight(row % rows.samples)), total(0), conditional(rows.conditional[row]),
          of_conditional(0) {}

    __device__ __forceinline__ void add(const Term &term, TermBars &bars) {
        total += weight * Likelihood::expected_log_density(term, weight, bars);
        total += weight * Likelihood::conditional_gain(term, conditional, weight, bars, of_conditional);
    }

    __device__ __forceinline__ double log_weight_bar() const { return total; }

    __device__ __forceinline__ double conditional_bar() const { return of_conditional; }
};

// The predictive objective: 1/power log sum_s w_s E p(y | f_s)^power of each row. The gradients of a sample count by its share of the sum, and
// the row's first sample adds for all.
template <class Likelihood> struct Predictive {
    double power, whole, weight, total;
    bool alone; // the only sample of its row, whose term is what its terms add up to

    __device__ __forceinline__ Predictive(const Rows &rows, int row)
        : power(rows.power), whole(rows.whole(row) / rows.power), weight(whole), total(0), alone(rows.samples == 1) {
        if (alone) return;
        const int first = row / rows.samples * rows.samples;
        LogSum all;
        double own = 0;
        for (int s = 0; s < rows.samples; s++) {
            double value = rows.log_weight(s);
            TermBars unused;
            for (int t = 0; t < rows.terms; t++)
                value += Likelihood::log_expected_power(power, rows.term(first + s, t), 0, unused);
            all.add(value);
            if (first + s == row) own = value;
        }
        weight = whole * exp(own - all.total());
        if (row == first) total = whole * all.total();
    }

    __device__ __forceinline__ void add(const Term &term, TermBars &bars) {
        const double value = Likelihood::log_expected_power(power, term, weight, bars);
        if (alone) total += whole * value;
    }

    __device__ __forceinline__ double log_weight_bar() const { return weight; }

    __device__ __forceinline__ double conditional_bar() const { return 0; }
};

// The faithful objective: the predictive one, but the mean of a term's first function and its first parameter, the level of its noise, go up
// the expected log density under that noise alone, as far as the step is faithful.
template <class Likelihood> struct Faithful : Predictive<Likelihood> {
    double plain; // the weight of this sample in an evidence lower bound
    double share; // the faithfulness

    __device__ __forceinline__ Faithful(const Rows &rows, int row)
        : Predictive<Likelihood>(rows, row), plain(rows.whole(row) * rows.weight(row % rows.samples)),
          share(rows.step.faithfulness) {}

    __device__ __forceinline__ void add(const Term &term, TermBars &bars) {
        Predictive<Likelihood>::add(term, bars);
        const double residual = term.y[0] - term.mean[0], noise = term.theta[0];
        // The geometric mean of two numbers of one sign, and no less than a share of the first.
        const double one = plain * residual / noise, other = bars.mean[0];
        const double blend = share == 1 ? one : one == 0 || other == 0 ? 0 : other * pow(one / other, share);
        bars.mean[0] = fabs(blend) < FAITHFUL_LEAST * fabs(one) ? FAITHFUL_LEAST * one : blend;
        bars.theta[0] = (1 - share) * bars.theta[0] +
                        share * 0.5 * plain * ((residual * residual + term.variance[0]) / noise - 1) / noise;
    }
};
