// Rows: gathering, moments, samples, and back.

// Ten rounds of Philox-4x32, as on the CPU.
__device__ void philox(unsigned k0, unsigned k1, unsigned c[4]) {
    for (int round = 0; round < 10; round++) {
        const unsigned a_high = __umulhi(c[0], 0xD2511F53u), a_low = c[0] * 0xD2511F53u;
        const unsigned b_high = __umulhi(c[2], 0xCD9E8D57u), b_low = c[2] * 0xCD9E8D57u;
        const unsigned c0 = b_high ^ c[1] ^ k0, c2 = a_high ^ c[3] ^ k1;
        c[0] = c0, c[1] = b_low, c[2] = c2, c[3] = a_low;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
}

__device__ double open_unit(unsigned high, unsigned low) {
    const unsigned long long bits = ((unsigned long long)high << 32 | low) >> 11;
    return (bits + 0.5) * (1.0 / 9007199254740992.0);
}

// Output `p` of a row of normals; outputs share a counter in pairs.
__device__ double normal(unsigned k0, unsigned k1, unsigned row, unsigned step, unsigned sample, unsigned layer, int p) {
    unsigned c[4] = {row, step, sample, (layer << 16) + p / 2};
    philox(k0, k1, c);
    const double radius = sqrt(-2 * log(open_unit(c[0], c[1])));
    double sine, cosine;
    sincospi(2 * open_unit(c[2], c[3]), &sine, &cosine);
    return radius * (p % 2 ? sine : cosine);
}

// x1 = [1 | z] of inducing inputs, in double and in the rows' precision.
extern "C" __global__ void with_ones(const double *z, int rows, int width, double *wide, REAL *narrow) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * (width + 1)) return;
    const int row = i / (width + 1), column = i % (width + 1);
    const double v = column == 0 ? 1 : z[row * width + column - 1];
    wide[i] = v;
    narrow[i] = v;
}

// The batch, [1 | x], by the row numbers of this step.
extern "C" __global__ void gather(const REAL *data, const unsigned *ids, int rows, int width, const Control *control,
                                  REAL *x1) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (size_t)rows * (width + 1)) return;
    const int row = i / (width + 1), column = i % (width + 1);
    const unsigned id = ids[(size_t)control->cursor * rows + row];
    x1[i] = column == 0 ? REAL(1) : data[(size_t)id * width + column - 1];
}

// variance_p = k(x, x) - a . q_p, no lower than the floor, and the fixed part of the mean. A warp for each row and output. `identity`
// adds input column p to output p, where there is one.
extern "C" __global__ void moments(const REAL *__restrict__ a, int a_stride, const REAL *__restrict__ q,
                                   const double *__restrict__ prior, double floor_absolute, double floor_relative,
                                   const REAL *__restrict__ x1, int width, int identity, int rows, int outputs, int m,
                                   int fan,
                                   const Step *steps, Control *control, REAL *__restrict__ mean, REAL *__restrict__ variance) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    if (warp >= rows * outputs) return;
    const int row = warp / outputs, p = warp % outputs;
    const bool hands_on = identity && p < width && lane == 0;
    // Asked for before anything waits.
    const REAL k0 = prior[0], moved = hands_on ? mean[warp] + x1[(size_t)row * (width + 1) + 1 + p] : REAL(0);
    a += (size_t)row * a_stride;
    q += (size_t)warp * m;
    REAL sum = 0;
#pragma unroll 4
    for (int j = lane; j < m; j += WARP) sum += a[j] * q[j];
    sum = warp_sum(sum);
    if (lane > 0) return;
    const REAL floor = REAL(floor_absolute) + REAL(floor_relative) * k0;
    REAL v = k0 - sum;
    if (v < floor) {
        v = floor;
        if (row / fan < steps[control->cursor].live) atomicAdd(&control->clamped, 1);
    }
    variance[warp] = v;
    if (hands_on) mean[warp] = moved;
}

// The noise of output p of `row`, one of `rows` that are `samples` for each of the batch: given, [given_rows, outputs], over and over, or drawn,
// a row of the batch's own, by its number among the rows of all processes, if there are `ids`, else the same for all.
__device__ __forceinline__ double noise_of(const double *given, int given_rows, const unsigned *ids, unsigned k0, unsigned k1,
                                           unsigned layer, int rows, int samples, int row, int p, int outputs,
                                           const Step *steps, const Control *control) {
    if (given) return given[(size_t)(row % given_rows) * outputs + p];
    if (!ids) return normal(k0, k1, 0, 0, row % samples, layer, p);
    const Step &step = steps[control->cursor];
    const unsigned id = ids[(size_t)control->cursor * (rows / samples) + row / samples] + unsigned(step.offset);
    return normal(k0, k1, id, step.number, row % samples, layer, p);
}

// f = mean + sqrt(variance) noise, `fan` samples of each row, as the next layer's [1 | x].
extern "C" __global__ void sample(const REAL *mean, const REAL *variance, const double *given, int given_rows,
                                  const unsigned *ids, unsigned k0, unsigned k1, unsigned layer, int rows, int fan, int samples,
                                  int outputs, const Step *steps, const Control *control, REAL *noise, REAL *x1) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * fan * outputs) return;
    const int row = i / outputs, p = i % outputs, below = row / fan;
    const double e = noise_of(given, given_rows, ids, k0, k1, layer, rows * fan, samples, row, p, outputs, steps, control);
    noise[i] = e;
    x1[(size_t)row * (outputs + 1) + 1 + p] = mean[below * outputs + p] + sqrt(variance[below * outputs + p]) * REAL(e);
    if (p == 0) x1[(size_t)row * (outputs + 1)] = 1;
}

// With e_p = -variance_bar_p (0 at the floor): a_bar = 2 sum_p e_p q_p. Leaves e in `e`, or, where that is null, e_p a in place of q_p;
// and -sum_p e_p in `diagonal_bar`. A block for each row, a thread for each column.
extern "C" __global__ void __launch_bounds__(BLOCK, 4) through_variance(const REAL *__restrict__ a, int a_stride, REAL *__restrict__ q,
                                            const REAL *__restrict__ variance, const REAL *__restrict__ variance_bar,
                                            const double *prior, double floor_absolute, double floor_relative, int outputs,
                                            int m, REAL *__restrict__ e, REAL *__restrict__ a_bar,
                                            double *__restrict__ diagonal_bar) {
    extern __shared__ double shared_bytes[];
    REAL *weights = (REAL *)shared_bytes;
    const int row = blockIdx.x;
    const REAL floor = REAL(floor_absolute) + REAL(floor_relative) * REAL(prior[0]);
    a += (size_t)row * a_stride;
    q += (size_t)row * outputs * m;
    for (int p = threadIdx.x; p < outputs; p += blockDim.x) {
        const size_t at = (size_t)row * outputs + p;
        weights[p] = variance[at] <= floor ? REAL(0) : -variance_bar[at];
        if (e) e[at] = weights[p];
    }
    __syncthreads();
    for (int j = threadIdx.x; j < m; j += blockDim.x) {
        const REAL own = a[j];
        REAL sum = 0;
        for (int p0 = 0; p0 < outputs; p0 += UNDER_WAY) {
            REAL *at = q + (size_t)p0 * m + j, read[UNDER_WAY];
#pragma unroll
            for (int i = 0; i < UNDER_WAY; i++) read[i] = p0 + i < outputs ? at[(size_t)i * m] : REAL(0);
#pragma unroll
            for (int i = 0; i < UNDER_WAY; i++) {
                if (p0 + i >= outputs) break;
                sum += weights[p0 + i] * read[i];
                if (!e) at[(size_t)i * m] = weights[p0 + i] * own;
            }
        }
        a_bar[(size_t)row * m + j] = 2 * sum;
    }
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int p = 0; p < outputs; p++) sum -= weights[p];
        diagonal_bar[row] = sum;
    }
}

// d = k(x, x) - |a|^2, no lower than the floor: what inducing inputs leave of the prior whatever is known of them. A warp for each row.
extern "C" __global__ void conditional_variance(const REAL *__restrict__ a, int a_stride, const double *prior,
                                                double floor_absolute, double floor_relative, int rows, int m,
                                                REAL *__restrict__ conditional) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    if (row >= rows) return;
    const REAL whole = prior[0], floor = REAL(floor_absolute) + REAL(floor_relative) * whole;
    a += (size_t)row * a_stride;
    REAL sum = 0;
#pragma unroll 4
    for (int j = lane; j < m; j += WARP) sum += a[j] * a[j];
    sum = warp_sum(sum);
    if (lane == 0) conditional[row] = whole - sum < floor ? floor : whole - sum;
}

// The pullback of `conditional_variance`, 0 at the floor: a_bar -= 2 conditional_bar a and diagonal_bar += conditional_bar. A warp for each row.
extern "C" __global__ void through_conditional(const REAL *__restrict__ a, int a_stride, const REAL *__restrict__ conditional,
                                               const REAL *__restrict__ conditional_bar, const double *prior,
                                               double floor_absolute, double floor_relative, int rows, int m,
                                               REAL *__restrict__ a_bar, double *__restrict__ diagonal_bar) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    if (row >= rows) return;
    const REAL floor = REAL(floor_absolute) + REAL(floor_relative) * REAL(prior[0]), bar = conditional_bar[row];
    if (conditional[row] <= floor) return;
    for (int j = lane; j < m; j += WARP) a_bar[(size_t)row * m + j] -= 2 * bar * a[(size_t)row * a_stride + j];
    if (lane == 0) diagonal_bar[row] += bar;
}

struct MomentBars {
    REAL mean, variance;
};

// The gradients at the moments of output p of a row, from those at its `fan` samples.
__device__ __forceinline__ MomentBars moment_bars(const REAL *x_bar, const REAL *noise, REAL variance, size_t row, int fan,
                                                  int outputs, int p) {
    const REAL deviation = sqrt(variance);
    MomentBars bars = {0, 0};
    for (int s = 0; s < fan; s++) {
        const size_t at = (row * fan + s) * outputs + p;
        bars.mean += x_bar[at];
        bars.variance += REAL(0.5) * x_bar[at] * noise[at] / deviation;
    }
    return bars;
}

// From the gradient at samples to those at the moments they came from.
extern "C" __global__ void sample_pullback(const REAL *x_bar, const REAL *noise, const REAL *variance, int rows, int fan,
                                           int outputs, REAL *mean_bar, REAL *variance_bar) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * outputs) return;
    const MomentBars bars = moment_bars(x_bar, noise, variance[i], i / outputs, fan, outputs, i % outputs);
    mean_bar[i] = bars.mean;
    variance_bar[i] = bars.variance;
}

// The gradient at the points of learned sites, [samples, outputs]: the sum over the batch of the gradient at a sample times the deviation of its
// output, which `fan` samples share. A block for each number. Says in `control` if it is not finite.
extern "C" __global__ void point_gradient(const REAL *__restrict__ x_bar, const REAL *__restrict__ variance, int batch_rows,
                                          int fan, int samples, int outputs, Control *control, double *points_bar) {
    __shared__ double sums[32];
    const int s = blockIdx.x / outputs, p = blockIdx.x % outputs;
    double sum = 0;
#pragma unroll 4
    for (int n = threadIdx.x; n < batch_rows; n += blockDim.x) {
        const size_t row = (size_t)n * samples + s;
        sum += x_bar[row * outputs + p] * sqrt(variance[row / fan * outputs + p]);
    }
    sum = block_sum(sum, sums);
    if (threadIdx.x > 0) return;
    points_bar[blockIdx.x] = sum;
    if (!isfinite(sum)) control->bad = 1;
}

// partial[chunk, d] = sum over the chunk's rows of s_n x_nd^2; s_n has a stride. A block for each chunk.
extern "C" __global__ void weighted_squares(const REAL *s, int s_stride, const REAL *x1, int rows, int width, int chunk_rows,
                                            double *partial) {
    const int first = blockIdx.x * chunk_rows, end = min(rows, first + chunk_rows);
    for (int d = threadIdx.x; d < width; d += blockDim.x) {
        double sum = 0;
        for (int n = first; n < end; n++) {
            const REAL x = x1[(size_t)n * (width + 1) + 1 + d];
            sum += s[(size_t)n * s_stride] * x * x;
        }
        partial[(size_t)blockIdx.x * width + d] = sum;
    }
}
