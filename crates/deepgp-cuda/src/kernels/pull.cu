// The way back through the kernel matrix of rows, k(x, z), in one kernel: its weights W = d/dr2 are never stored. For one squared exponential of
// at most 15 inputs, at most 16 outputs and at most 512 columns.
//
// With k_bar = mean_bar w^T + kb_bar, W = -k o k_bar / 2, and out of it come
//
//   W [1 | z]      a row's own: the gradient at its input           contracted over columns
//   W^T [1 | x]    for inducing inputs and lengthscales             contracted over rows
//   k^T mean_bar   for the mean's weights                           contracted over rows
//
// all on the matrix units. A warp has 32 columns, for which it keeps the sums over the block's rows; rows come 8 at a time. The units take
// the sums' order of columns and rows as they are given it, so that fragments of k and W, whose lanes hold (column g or g + 8, row
// 2t or 2t + 1), are factors as they are.

#if __CUDA_ARCH__ >= 900 && DOUBLE
#define SIDE_APART 17
#define PULL_ROWS 8
#define OWN_COLUMNS 32

extern "C" __global__ void __launch_bounds__(PULL_THREADS, 1)
    pull_rows(const REAL *__restrict__ k, const REAL *__restrict__ x1, const REAL *__restrict__ z1, const double *__restrict__ theta,
              const REAL *__restrict__ mean_bar, const REAL *__restrict__ weights, int outputs, int means,
              const REAL *__restrict__ kb_bar, int start, int covariances, int rows, int columns, int chunk_rows, int identity,
              int add, int with_weights, REAL *__restrict__ x_bar, REAL *__restrict__ sums, double *__restrict__ squares,
              double *__restrict__ partial) {
#if FROM_VALUE && !PRODUCTS && D < 16
    extern __shared__ double pulled[];
    typedef double(*Side)[SIDE_APART];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP, g = lane / 4, t = lane % 4;
    const int first_column = OWN_COLUMNS * warp;
    Side zs = (Side)pulled;                          // [1 | z] of all columns
    Side ws = zs + OWN_COLUMNS * warps;              // w of all columns
    Side xs = ws + OWN_COLUMNS * warps;              // [1 | x] of the rows at hand
    Side ms = xs + PULL_ROWS;                        // their mean_bar
    Side row_sums = ms + PULL_ROWS;                  // their W [1 | z]
    double *scales = (double *)(row_sums + PULL_ROWS), *block_sums = scales + 16;
    double(*turned)[PULL_ROWS][OWN_COLUMNS + 1] = (double(*)[PULL_ROWS][OWN_COLUMNS + 1])(block_sums + 32); // W of each warp, a row a row
    for (int i = threadIdx.x; i < OWN_COLUMNS * warps * 16; i += blockDim.x) {
        const int column = i / 16, e = i % 16;
        zs[column][e] = column < columns && e <= D ? z1[(size_t)column * (D + 1) + e] : 0;
        ws[column][e] = column < means && e < outputs ? weights[(size_t)column * outputs + e] : 0;
    }
    if (threadIdx.x < D) scales[threadIdx.x] = 2 / (theta[lengthscales_at(0) + threadIdx.x] * theta[lengthscales_at(0) + threadIdx.x]);
    double of_x[2][2][4] = {}, of_mean[2][2][4] = {}, of_variance = 0, of_square = 0;
    const int first = blockIdx.x * chunk_rows, end = min(rows, first + chunk_rows);
    for (int row0 = first; row0 < end; row0 += PULL_ROWS) {
        double own[2][4];
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int column = first_column + 16 * m + g + 8 * (e % 2), row = row0 + 2 * t + e / 2;
                own[m][e] = column < columns ? k[(size_t)row * columns + column] : 0;
            }
        __syncthreads();
        for (int i = threadIdx.x; i < PULL_ROWS * 16; i += blockDim.x) {
            const int row = i / 16, e = i % 16;
            xs[row][e] = e <= D ? x1[(size_t)(row0 + row) * (D + 1) + e] : 0;
            ms[row][e] = e < outputs ? mean_bar[(size_t)(row0 + row) * outputs + e] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int m = 0; m < 2; m++) {
            const int column = first_column + 16 * m + g;
            double bars[4];
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int at = column + 8 * (e / 2) - start, row = row0 + 2 * t + e % 2;
                bars[e] = at >= 0 && at < covariances ? kb_bar[(size_t)row * covariances + at] : 0;
            }
#pragma unroll
            for (int p = 4 * t; p < 4 * t + 4; p += 2) {
                const double left[4] = {ws[column][p], ws[column + 8][p], ws[column][p + 1], ws[column + 8][p + 1]};
                multiply_add(left, ms[g][p], ms[g][p + 1], bars);
            }
            double w[4] = {bars[0], bars[2], bars[1], bars[3]};
#pragma unroll
            for (int e = 0; e < 4; e++) {
                w[e] *= own[m][e];
                of_variance += w[e];
                w[e] *= -0.5;
                turned[warp][2 * t + e / 2][16 * m + g + 8 * (e % 2)] = w[e];
            }
#pragma unroll
            for (int h = 0; h < 2; h++) {
                multiply_add(w, xs[2 * t][8 * h + g], xs[2 * t + 1][8 * h + g], of_x[m][h]);
                if (with_weights) multiply_add(own[m], ms[2 * t][8 * h + g], ms[2 * t + 1][8 * h + g], of_mean[m][h]);
            }
        }
        __syncwarp();
        double own_rows[4] = {};
#pragma unroll
        for (int c = 0; c < OWN_COLUMNS; c += c % 16 == 2 ? 14 : 2) {
            // Columns c, c + 1 and those 4, 8 and 12 after them.
            const int at = c + 4 * t, column = first_column + at;
            const double left[4] = {zs[column][g], zs[column][g + 8], zs[column + 1][g], zs[column + 1][g + 8]};
            multiply_add(left, turned[warp][g][at], turned[warp][g][at + 1], own_rows);
        }
        __syncwarp();
#pragma unroll
        for (int e = 0; e < 4; e++) turned[warp][2 * t + e % 2][g + 8 * (e / 2)] = own_rows[e];
        __syncthreads();
        for (int i = threadIdx.x; i < PULL_ROWS * 16; i += blockDim.x) {
            double sum = 0;
            for (int w = 0; w < warps; w++) sum += turned[w][i / 16][i % 16];
            row_sums[i / 16][i % 16] = sum;
        }
        __syncthreads();
        for (int i = threadIdx.x; x_bar && i < PULL_ROWS * D; i += blockDim.x) {
            const int row = i / D, d = i % D;
            REAL *to = x_bar + (size_t)(row0 + row) * D + d;
            const double before = (add ? *to : 0) + (identity && d < outputs ? ms[row][d] : 0);
            *to = before + scales[d] * (xs[row][1 + d] * row_sums[row][0] - row_sums[row][1 + d]);
        }
        if (threadIdx.x < D)
            for (int row = 0; row < PULL_ROWS; row++)
                of_square += row_sums[row][0] * xs[row][1 + threadIdx.x] * xs[row][1 + threadIdx.x];
    }
    sums += (size_t)blockIdx.x * columns * 32;
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int column = first_column + 16 * m + g + 8 * (e / 2), at = 8 * h + 2 * t + e % 2;
                if (column >= columns) continue;
                sums[(size_t)column * 32 + at] = of_x[m][h][e];
                if (with_weights) sums[(size_t)column * 32 + 16 + at] = of_mean[m][h][e];
            }
    if (threadIdx.x < D) squares[(size_t)blockIdx.x * D + threadIdx.x] = of_square;
    of_variance = block_sum(of_variance / theta[variance_at(0)], block_sums);
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = of_variance, partial[2 * blockIdx.x + 1] = 0;
#endif
}
#endif

// z_sums, [columns, D + 1], and weights_bar, [means, outputs], unless that is null, from what blocks of `pull_rows` left, in order.
extern "C" __global__ void sum_pulled(const REAL *sums, int blocks, int columns, int outputs, int means, double *z_sums,
                                      double *weights_bar) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, column = i / 32, e = i % 32;
    if (column >= columns) return;
    const bool of_x = e <= D && e < 16, of_mean = weights_bar && column < means && e >= 16 && e - 16 < outputs;
    if (!of_x && !of_mean) return;
    double sum = 0;
#pragma unroll 12
    for (int b = 0; b < blocks; b++) sum += sums[((size_t)b * columns + column) * 32 + e];
    if (of_x) z_sums[(size_t)column * (D + 1) + e] = sum;
    else weights_bar[(size_t)column * outputs + e - 16] = sum;
}
