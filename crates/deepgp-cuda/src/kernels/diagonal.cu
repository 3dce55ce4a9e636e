// Rows under the diagonal covariance, sigma^2_p = k(x, x) - sum_m g_pm a_m^2 with g = 1 - s^2: forward, back, and what reaches s.

// The share of the prior that inducing input j explains for output p.
__device__ __forceinline__ REAL explained_share(const double *s, int p, int m, int j) {
    const double own = s[(size_t)p * m + j];
    return REAL(1 - own * own);
}

// variance_p, no lower than the floor; the mean function's share of the mean, as in `moments`; and, unless `above` is null, a sample of each
// output as the next layer's [1 | x], as in `sample`. A block for 32 rows, a row a lane; outputs go round the warps.
extern "C" __global__ void __launch_bounds__(BLOCK)
    diagonal_moments(const REAL *__restrict__ a, int a_stride, const double *__restrict__ s, const double *__restrict__ prior,
                     double floor_absolute, double floor_relative, const REAL *__restrict__ x1, int width, int identity, int rows,
                     int outputs, int m, int fan, const double *given, int given_rows, const unsigned *ids, unsigned k0,
                     unsigned k1, unsigned layer, int samples, const Step *steps, Control *control, REAL *__restrict__ mean,
                     REAL *__restrict__ variance, REAL *__restrict__ noise, REAL *__restrict__ above) {
    __shared__ REAL squares[WARP][DIAGONAL_COLUMNS + 1], shares[DIAGONAL_OUTPUTS][DIAGONAL_COLUMNS];
    constexpr int warps = BLOCK / WARP, rounds = DIAGONAL_OUTPUTS / warps;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, row0 = blockIdx.x * WARP, row = row0 + lane;
    const REAL whole = prior[0], floor = REAL(floor_absolute) + REAL(floor_relative) * whole;
    for (int p0 = 0; p0 < outputs; p0 += DIAGONAL_OUTPUTS) {
        const int count = min(DIAGONAL_OUTPUTS, outputs - p0);
        REAL sums[rounds][4] = {};
        for (int j0 = 0; j0 < m; j0 += DIAGONAL_COLUMNS) {
            __syncthreads();
#pragma unroll
            for (int i = threadIdx.x; i < WARP * DIAGONAL_COLUMNS; i += BLOCK) {
                const int own = i / DIAGONAL_COLUMNS, j = i % DIAGONAL_COLUMNS;
                const REAL v = row0 + own < rows && j0 + j < m ? a[(size_t)(row0 + own) * a_stride + j0 + j] : REAL(0);
                squares[own][j] = v * v;
            }
            for (int i = threadIdx.x; i < count * DIAGONAL_COLUMNS; i += blockDim.x) {
                const int p = i / DIAGONAL_COLUMNS, j = i % DIAGONAL_COLUMNS;
                shares[p][j] = j0 + j < m ? explained_share(s, p0 + p, m, j0 + j) : REAL(0);
            }
            __syncthreads();
            // Columns beyond the last hold zeros.
            const int columns = min(DIAGONAL_COLUMNS, (m - j0 + 3) / 4 * 4);
#pragma unroll
            for (int h = 0; h < rounds; h++) {
                const int p = warp + h * warps;
                if (p >= count) break;
#pragma unroll 4
                for (int j = 0; j < columns; j += 4)
                    for (int q = 0; q < 4; q++) sums[h][q] += squares[lane][j + q] * shares[p][j + q];
            }
        }
#pragma unroll
        for (int h = 0; h < rounds; h++) {
            const int p = p0 + warp + h * warps;
            if (p >= outputs || row >= rows) break;
            const size_t at = (size_t)row * outputs + p;
            REAL v = whole - ((sums[h][0] + sums[h][1]) + (sums[h][2] + sums[h][3])), mu = mean[at];
            if (v < floor) {
                v = floor;
                if (row / fan < steps[control->cursor].live) atomicAdd(&control->clamped, 1);
            }
            variance[at] = v;
            if (identity && p < width) mean[at] = mu += x1[(size_t)row * (width + 1) + 1 + p];
            if (!above) continue;
            const double e = noise_of(given, given_rows, ids, k0, k1, layer, rows, samples, row, p, outputs, steps, control);
            noise[at] = e;
            above[(size_t)row * (outputs + 1) + 1 + p] = mu + sqrt(v) * REAL(e);
            if (p == 0) above[(size_t)row * (outputs + 1)] = 1;
        }
    }
}

// The way back: from the gradients at samples, unless `x_bar` is null, to mean_bar and variance_bar, as in `sample_pullback`; then, with
// e_p = -variance_bar_p (0 at the floor), a_bar = 2 a sum_p e_p g_p. Leaves e, and -sum_p e_p in `diagonal_bar`. A block for
// `block_rows` rows, of which a warp takes four at a time.
extern "C" __global__ void __launch_bounds__(BLOCK)
    through_diagonal(const REAL *__restrict__ a, int a_stride, const double *__restrict__ s, const REAL *__restrict__ x_bar,
                     const REAL *__restrict__ noise, int fan, const REAL *__restrict__ variance, const double *prior,
                     double floor_absolute, double floor_relative, int rows, int outputs, int m, int block_rows,
                     REAL *__restrict__ mean_bar, const REAL *__restrict__ variance_bar, REAL *__restrict__ e,
                     REAL *__restrict__ a_bar, double *__restrict__ diagonal_bar) {
    extern __shared__ double shared_bytes[];
    REAL *weights = (REAL *)shared_bytes; // [block_rows, outputs]
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    const int row0 = blockIdx.x * block_rows, count = min(block_rows, rows - row0);
    const REAL floor = REAL(floor_absolute) + REAL(floor_relative) * REAL(prior[0]);
    for (int i = threadIdx.x; i < count * outputs; i += blockDim.x) {
        const size_t at = (size_t)row0 * outputs + i;
        REAL of_variance;
        if (x_bar) {
            const MomentBars bars = moment_bars(x_bar, noise, variance[at], at / outputs, fan, outputs, at % outputs);
            mean_bar[at] = bars.mean;
            of_variance = bars.variance;
        } else {
            of_variance = variance_bar[at];
        }
        weights[i] = variance[at] <= floor ? REAL(0) : -of_variance;
        e[at] = weights[i];
    }
    __syncthreads();
    for (int row = threadIdx.x; row < count; row += blockDim.x) {
        double sum = 0;
        for (int p = 0; p < outputs; p++) sum -= weights[row * outputs + p];
        diagonal_bar[row0 + row] = sum;
    }
    for (int first = 4 * warp; first < count; first += 4 * warps) {
        for (int j = lane; j < m; j += WARP) {
            REAL own[4], sums[4] = {};
            for (int q = 0; q < 4; q++) own[q] = first + q < count ? a[(size_t)(row0 + first + q) * a_stride + j] : REAL(0);
#pragma unroll 4
            for (int p = 0; p < outputs; p++) {
                const REAL share = explained_share(s, p, m, j);
                for (int q = 0; q < 4; q++) sums[q] += weights[min(first + q, count - 1) * outputs + p] * share;
            }
            for (int q = 0; q < 4; q++)
                if (first + q < count) a_bar[(size_t)(row0 + first + q) * m + j] = 2 * own[q] * sums[q];
        }
    }
}

// partial[chunk, p, j] = sum of e_np a_nj^2 over the chunk's rows: a thread for each column, blockIdx.y for the chunk.
extern "C" __global__ void diagonal_sums(const REAL *__restrict__ a, int a_stride, const REAL *__restrict__ e, int rows,
                                         int chunk_rows, int outputs, int m, REAL *__restrict__ partial) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * chunk_rows, end = min(rows, first + chunk_rows);
    if (j >= m) return;
    for (int p0 = 0; p0 < outputs; p0 += UNDER_WAY) {
        REAL sums[UNDER_WAY] = {};
#pragma unroll 4
        for (int n = first; n < end; n++) {
            const REAL v = a[(size_t)n * a_stride + j], square = v * v;
#pragma unroll
            for (int i = 0; i < UNDER_WAY; i++) sums[i] += (p0 + i < outputs ? e[(size_t)n * outputs + p0 + i] : REAL(0)) * square;
        }
        for (int i = 0; i < UNDER_WAY && p0 + i < outputs; i++)
            partial[((size_t)blockIdx.y * outputs + p0 + i) * m + j] = sums[i];
    }
}

// s_bar = kl_bar (s - 1 / s) - 2 s g_bar, where g_bar is the sum over chunks of what `diagonal_sums` left; n numbers.
extern "C" __global__ void diagonal_gradient(const REAL *partial, int chunks, const double *s, int n, const Step *steps,
                                             const Control *control, double *s_bar) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0;
#pragma unroll 8
    for (int c = 0; c < chunks; c++) sum += partial[(size_t)c * n + i];
    s_bar[i] = -steps[control->cursor].kl_weight * (s[i] - 1 / s[i]) - 2 * s[i] * sum;
}

// The same from the sum itself, that of all processes.
extern "C" __global__ void summed_diagonal_gradient(const double *__restrict__ g_bar, const double *__restrict__ s, int n, const Step *steps,
                                                    const Control *control, double *__restrict__ s_bar) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) s_bar[i] = -steps[control->cursor].kl_weight * (s[i] - 1 / s[i]) - 2 * s[i] * g_bar[i];
}

// The KL of each output, 1/2 sum_m (s_pm^2 - log s_pm^2 - 1). A block for each.
extern "C" __global__ void diagonal_kl(const double *s, int m, double *kl) {
    __shared__ double sums[32];
    double sum = 0;
    for (int j = threadIdx.x; j < m; j += blockDim.x) {
        const double own = s[(size_t)blockIdx.x * m + j], square = own * own;
        sum += square - log(square) - 1;
    }
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0) kl[blockIdx.x] = 0.5 * sum;
}
