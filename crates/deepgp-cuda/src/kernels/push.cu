// Rows forward through a layer in one kernel: its kernel matrix, means, variances under the diagonal covariance, and samples. For one squared
// exponential of at most 15 inputs, at most 16 outputs and at most 512 columns, whose factors fit into shared memory.
//
// Rows come 16 at a time, and a warp has 32 columns of their k(x, z). What it finds is a factor on the matrix units as it is: of k w, and, by
// way of shared memory, of A = k_b R^T, whose squares are one of the variances.

#if __CUDA_ARCH__ >= 900 && DOUBLE
#define PUSH_ROWS 16
#define OWN_COLUMNS 32

extern "C" __global__ void __launch_bounds__(PUSH_THREADS, 1)
    push_rows(const REAL *__restrict__ x1, const REAL *__restrict__ z1, const double *__restrict__ theta,
              const REAL *__restrict__ weights, int outputs, int means, const REAL *__restrict__ r, const double *__restrict__ s,
              int start, int m, int rows, int columns, int chunk_rows, const double *__restrict__ prior, double floor_absolute,
              double floor_relative, int identity, int fan, const double *given, const unsigned *ids, unsigned k0, unsigned k1,
              unsigned layer, int samples, const Step *steps, Control *control, REAL *__restrict__ k, REAL *__restrict__ a,
              REAL *__restrict__ mean, REAL *__restrict__ variance, REAL *__restrict__ noise, REAL *__restrict__ above) {
#if FROM_VALUE && !PRODUCTS && D < 16
    extern __shared__ double pushed[];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP, g = lane / 4, t = lane % 4;
    const int first_column = OWN_COLUMNS * warp;
    // Rows of these are an odd number apart, so that lanes find different banks.
    const int wide = outputs | 1, blocks = (m + 7) / 8, order = 8 * blocks + 1;
    double *zs = pushed;                                          // z / lengthscale of all columns, D | 1 apart
    double *ws = zs + OWN_COLUMNS * warps * (D | 1);              // w of all columns, [columns, wide]
    double *rs = ws + OWN_COLUMNS * warps * wide;                 // R, filled up with zeros, `order` apart
    double *gs = rs + 8 * blocks * order;                         // shares 1 - s^2, [m, wide]
    double *xs = gs + 8 * blocks * wide;                          // x / lengthscale of the rows at hand, D | 1 apart
    double *kb = xs + PUSH_ROWS * (D | 1);                        // their k_b, `order` apart
    double *scales = kb + PUSH_ROWS * order;                      // one over the lengthscales
    double *parts = scales + 16;                                  // what each warp adds to the rows' moments, [warps, rows, wide]
    const double own_variance = theta[variance_at(0)], whole = prior[0], floor = floor_absolute + floor_relative * whole;
    if (threadIdx.x < D) scales[threadIdx.x] = 1 / theta[lengthscales_at(0) + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.x; i < OWN_COLUMNS * warps * D; i += blockDim.x) {
        const int column = i / D, d = i % D;
        zs[column * (D | 1) + d] = column < columns ? z1[(size_t)column * (D + 1) + 1 + d] * scales[d] : 0;
    }
    for (int i = threadIdx.x; i < OWN_COLUMNS * warps * wide; i += blockDim.x) {
        const int column = i / wide, p = i % wide;
        ws[i] = column < means && p < outputs ? weights[(size_t)column * outputs + p] : 0;
    }
    for (int i = threadIdx.x; i < 8 * blocks * order; i += blockDim.x) {
        const int row = i / order, column = i % order;
        rs[i] = row < m && column < m ? r[(size_t)row * m + column] : 0;
    }
    for (int i = threadIdx.x; i < 8 * blocks * wide; i += blockDim.x) {
        const int j = i / wide, p = i % wide;
        const double own = j < m && p < outputs ? s[(size_t)p * m + j] : 1;
        gs[i] = 1 - own * own;
    }
    for (int i = threadIdx.x; i < PUSH_ROWS * order; i += blockDim.x) kb[i] = 0;
    // The output of a row whose moments this thread ends.
    const int own_row = threadIdx.x / outputs, p = threadIdx.x % outputs;
    const bool ends = own_row < PUSH_ROWS;
    // Outputs beyond the last have no weight.
    auto weight = [&](const double *from, int at, int output) { return output < outputs ? from[at * wide + output] : 0; };
    const int end = min(rows, (int)(blockIdx.x + 1) * chunk_rows);
    for (int row0 = blockIdx.x * chunk_rows; row0 < end; row0 += PUSH_ROWS) {
        const int row = row0 + own_row;
        double e = 0;
        if (ends && above) e = noise_of(given, ids, k0, k1, layer, rows, samples, row, p, outputs, steps, control);
        __syncthreads();
        for (int i = threadIdx.x; i < PUSH_ROWS * D; i += blockDim.x)
            xs[i / D * (D | 1) + i % D] = x1[(size_t)(row0 + i / D) * (D + 1) + 1 + i % D] * scales[i % D];
        __syncthreads();
        double of_mean[2][4] = {}, own_x[2][D];
#pragma unroll
        for (int d = 0; d < D; d++) own_x[0][d] = xs[g * (D | 1) + d], own_x[1][d] = xs[(g + 8) * (D | 1) + d];
#pragma unroll
        for (int c = 0; c < OWN_COLUMNS; c += 8) {
            // Rows g and g + 8, columns 2t and 2t + 1.
            const int column = first_column + c + 2 * t;
            double values[4] = {};
#pragma unroll
            for (int d = 0; d < D; d++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const double apart = own_x[i % 2][d] - zs[(column + i / 2) * (D | 1) + d];
                    values[i] += apart * apart;
                }
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int at = column + i / 2, own = g + i % 2 * 8;
                values[i] = at < columns ? own_variance * profile<double>(0, values[i], 0) : 0;
                if (at < columns) k[(size_t)(row0 + own) * columns + at] = values[i];
                if (at >= start && at < start + m) kb[own * order + at - start] = values[i];
            }
#pragma unroll
            for (int h = 0; h < 2; h++)
                multiply_add(values, weight(ws, column, 8 * h + g), weight(ws, column + 1, 8 * h + g), of_mean[h]);
        }
        // Numbers of the matrix units, [rows, outputs], to this warp's part.
        auto put = [&](const double sums[2][4]) {
#pragma unroll
            for (int h = 0; h < 2; h++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const int output = 8 * h + 2 * t + i % 2;
                    if (output < outputs) parts[(warp * PUSH_ROWS + g + i / 2 * 8) * wide + output] = sums[h][i];
                }
        };
        put(of_mean);
        __syncthreads();
        double mu = 0;
        for (int w = 0; ends && w < warps; w++) mu += parts[(w * PUSH_ROWS + own_row) * wide + p];
        double of_variance[2][4] = {};
        for (int block = warp; block < blocks; block += warps) {
            double own[4] = {};
            // R has nothing right of its diagonal.
#pragma unroll 4
            for (int c = 0; c <= block; c++) {
                const double *left = kb + g * order + 8 * c + t, *right = rs + (8 * block + g) * order + 8 * c + t;
                const double part[4] = {left[0], left[8 * order], left[4], left[8 * order + 4]};
                multiply_add(part, right[0], right[4], own);
            }
            double squares[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                // The units hand out (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1), and take the two in the middle the other way round.
                const int j = 8 * block + 2 * t + i % 2;
                if (j < m) a[(size_t)(row0 + g + i / 2 * 8) * m + j] = own[i];
                squares[i % 2 * 2 + i / 2] = own[i] * own[i];
            }
            const int j = 8 * block + 2 * t;
#pragma unroll
            for (int h = 0; h < 2; h++)
                multiply_add(squares, weight(gs, j, 8 * h + g), weight(gs, j + 1, 8 * h + g), of_variance[h]);
        }
        __syncthreads();
        put(of_variance);
        __syncthreads();
        if (!ends) continue;
        double v = whole;
        for (int w = 0; w < warps; w++) v -= parts[(w * PUSH_ROWS + own_row) * wide + p];
        const size_t at = (size_t)row * outputs + p;
        if (v < floor) {
            v = floor;
            if (row / fan < steps[control->cursor].live) atomicAdd(&control->clamped, 1);
        }
        if (identity && p < D) mu += x1[(size_t)row * (D + 1) + 1 + p];
        variance[at] = v;
        mean[at] = mu;
        if (!above) continue;
        noise[at] = e;
        above[(size_t)row * (outputs + 1) + 1 + p] = mu + sqrt(v) * e;
        if (p == 0) above[(size_t)row * (outputs + 1)] = 1;
    }
#endif
}
#endif
