// The end of a step: is it good, what was it, and Adam.

// Whether some gradient is not finite.
extern "C" __global__ void check_finite(const double *gradient, int n, Control *control) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && !isfinite(gradient[i])) control->bad = 1;
}

// Adds up what a step's rows and factors say, writes it into its record [data term, clamped, good, infos, KLs], and says whether it may update as
// far as that is concerned; the gradients are not there yet. The gradients of the likelihood's parameters and at the logits of learned
// sites' weights go to where they belong. `all_clamped`, unless it is null, is the number of variances at the floor in all processes. One block.
extern "C" __global__ void decide(const double *partial, int blocks, int parameters, const double *logits, int sites,
                                  const double *kl, int kls, const int *infos, int factors, int length, const double *all_clamped,
                                  Control *control, double *records, double *theta_bar, double *logits_bar) {
    __shared__ double sums[32];
    double *record = records + (size_t)control->cursor * length;
    double total = 0;
    for (int p = -1; p < parameters + sites; p++) {
        double sum = 0;
        for (int b = threadIdx.x; b < blocks; b += blockDim.x) sum += partial[(size_t)b * (1 + parameters + sites) + 1 + p];
        sum = block_sum(sum, sums);
        if (p < 0) total = sum;
        else if (threadIdx.x == 0) (p < parameters ? theta_bar[p] : logits_bar[p - parameters]) = sum;
    }
    if (threadIdx.x == 0) {
        // From the logarithms of weights to their logits.
        LogSum weights;
        double whole = 0;
        for (int s = 0; s < sites; s++) weights.add(logits[s]), whole += logits_bar[s];
        for (int s = 0; s < sites; s++) logits_bar[s] -= exp(logits[s] - weights.total()) * whole;
    }
    __syncthreads();
    int good = 1;
    for (int i = threadIdx.x; i < sites; i += blockDim.x) good = good && isfinite(logits_bar[i]);
    for (int i = threadIdx.x; i < parameters; i += blockDim.x) good = good && isfinite(theta_bar[i]);
    for (int i = threadIdx.x; i < factors; i += blockDim.x) {
        record[3 + i] = infos[i];
        good = good && infos[i] == 0;
    }
    for (int i = threadIdx.x; i < kls; i += blockDim.x) {
        record[3 + factors + i] = kl[i];
        good = good && isfinite(kl[i]);
    }
    good = __syncthreads_and(good);
    if (threadIdx.x > 0) return;
    record[0] = total;
    record[1] = all_clamped ? *all_clamped : control->clamped;
    control->go = good && isfinite(total) && !control->halted;
}

// If the step is good: Adam, uphill, and the values of the new raw numbers, floor + exp(raw) where there is a floor; what was before is kept. The
// last block to end completes the step's record, and goes on to the next step.
extern "C" __global__ void ascend(double *raw, double *first, double *second, double *values, double *before,
                                  const double *gradient, const double *floors, const unsigned char *frozen, int n,
                                  const Step *steps, Control *control, double *records, int length) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned cursor = control->cursor;
    const bool go = control->go && !control->bad;
    if (go && i < n) {
        const double rate = steps[cursor].rate, r = raw[i], m = first[i], v = second[i], floor = floors[i];
        before[i] = r, before[n + i] = m, before[2 * n + i] = v, before[3 * n + i] = values[i];
        if (!frozen[i]) {
            const double g = floor >= 0 ? gradient[i] * exp(r) : gradient[i];
            const double new_m = BETA_1 * m + (1 - BETA_1) * g, new_v = BETA_2 * v + (1 - BETA_2) * g * g;
            double next = r + rate * new_m / (sqrt(new_v) + EPSILON);
            if (floor >= 0 && next < LOWEST_RAW) next = LOWEST_RAW;
            raw[i] = next, first[i] = new_m, second[i] = new_v;
            values[i] = floor >= 0 ? floor + exp(next) : next;
        }
    }
    // Nobody needs `control` any more when its block has been counted.
    __syncthreads();
    if (threadIdx.x > 0) return;
    __threadfence();
    if (atomicAdd(&control->done, 1u) + 1 < gridDim.x) return;
    records[(size_t)cursor * length + 2] = go;
    control->halted = control->halted || !go;
    control->cursor = cursor + 1;
    control->bad = 0;
    control->clamped = 0;
    control->done = 0;
}

// Values of all raw numbers that can move.
extern "C" __global__ void constrain(const double *raw, const double *floors, const unsigned char *frozen, int n,
                                     double *values) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && !frozen[i]) values[i] = floors[i] >= 0 ? floors[i] + exp(raw[i]) : raw[i];
}
