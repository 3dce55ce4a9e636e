// Kernel matrices and their pullbacks, for one kernel and one input width. Before this text stand, made for the kernel at hand:
//
//   D, LEAVES, PRODUCTS    the input width; stationary kernels it is made of; whether distances come as matrix products
//   lengthscales_at(i), variance_at(i), shape_at(i)   where leaf i's parameters stand in theta
//   shaped(i)              whether leaf i has a shape
//   profile, slope, shape_slope   g(r2) of leaf i, its derivative in r2, and that in the shape
//   FROM_VALUE             whether it is one squared exponential, whose slope is a function of its value
//   combine, shares        k as a function of the leaves' values v_i = variance_i g_i, and its derivatives in them

#define CHUNK (D < COLUMNS_AT_ONCE ? D : COLUMNS_AT_ONCE)
#define STRIDE (CHUNK | 1)
#define BY_ROW 4
#define BY_COLUMN 2

// r2 of 4 x 2 pairs of points a thread: rows y, y + 8, ... and columns x, x + 32 of a tile. Points are rows of [1 | x].
template <class T>
__device__ void distances(const T *x1, const T *z1, const double *theta, int rows, int columns, int row0, int column0,
                          T r2[LEAVES][BY_ROW][BY_COLUMN]) {
    __shared__ T xs[TILE_ROWS][STRIDE], zs[TILE_COLUMNS][STRIDE], inverse[LEAVES][CHUNK];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    for (int leaf = 0; leaf < LEAVES; leaf++)
        for (int a = 0; a < BY_ROW; a++)
            for (int b = 0; b < BY_COLUMN; b++) r2[leaf][a][b] = 0;
    for (int d0 = 0; d0 < D; d0 += CHUNK) {
        const int width = D - d0 < CHUNK ? D - d0 : CHUNK;
        __syncthreads();
        for (int i = threadIdx.x; i < LEAVES * CHUNK; i += blockDim.x) {
            const int d = i % CHUNK;
            inverse[i / CHUNK][d] = d < width ? T(1 / theta[lengthscales_at(i / CHUNK) + d0 + d]) : T(0);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < TILE_ROWS * CHUNK; i += blockDim.x) {
            const int row = i / CHUNK, d = i % CHUNK;
            const T v = row0 + row < rows && d < width ? x1[(size_t)(row0 + row) * (D + 1) + 1 + d0 + d] : T(0);
            xs[row][d] = LEAVES == 1 ? v * inverse[0][d] : v;
        }
        for (int i = threadIdx.x; i < TILE_COLUMNS * CHUNK; i += blockDim.x) {
            const int row = i / CHUNK, d = i % CHUNK;
            const T v = column0 + row < columns && d < width ? z1[(size_t)(column0 + row) * (D + 1) + 1 + d0 + d] : T(0);
            zs[row][d] = LEAVES == 1 ? v * inverse[0][d] : v;
        }
        __syncthreads();
#pragma unroll 8
        for (int d = 0; d < CHUNK; d++) {
            T left[BY_ROW], right[BY_COLUMN];
            for (int a = 0; a < BY_ROW; a++) left[a] = xs[y + 8 * a][d];
            for (int b = 0; b < BY_COLUMN; b++) right[b] = zs[x + 32 * b][d];
            for (int a = 0; a < BY_ROW; a++)
                for (int b = 0; b < BY_COLUMN; b++) {
                    const T apart = left[a] - right[b];
                    if (LEAVES == 1) {
                        r2[0][a][b] += apart * apart;
                    } else {
                        for (int leaf = 0; leaf < LEAVES; leaf++) {
                            const T scaled = apart * inverse[leaf][d];
                            r2[leaf][a][b] += scaled * scaled;
                        }
                    }
                }
        }
    }
}

// The same from products: r2 = |x|^2 + |z|^2 - 2 x.z, where the last part stands in `products`, [LEAVES, rows, columns].
template <class T>
__device__ void distances_from(const T *products, const T *x_norms, const T *z_norms, int rows, int columns, int row0,
                               int column0, T r2[LEAVES][BY_ROW][BY_COLUMN]) {
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    for (int leaf = 0; leaf < LEAVES; leaf++)
        for (int a = 0; a < BY_ROW; a++)
            for (int b = 0; b < BY_COLUMN; b++) {
                const int row = row0 + y + 8 * a, column = column0 + x + 32 * b;
                T v = 0;
                if (row < rows && column < columns) {
                    v = products[((size_t)leaf * rows + row) * columns + column];
                    v += x_norms[(size_t)leaf * rows + row] + z_norms[(size_t)leaf * columns + column];
                }
                r2[leaf][a][b] = v < 0 ? T(0) : v;
            }
}

// Variances and shapes of the leaves.
template <class T> struct Leaves {
    T variance[LEAVES], shape[LEAVES];
    __device__ Leaves(const double *theta) {
        for (int leaf = 0; leaf < LEAVES; leaf++) {
            variance[leaf] = theta[variance_at(leaf)];
            shape[leaf] = shaped(leaf) ? T(theta[shape_at(leaf)]) : T(0);
        }
    }
    __device__ T value(const T *r2) const {
        T v[LEAVES];
        for (int leaf = 0; leaf < LEAVES; leaf++) v[leaf] = variance[leaf] * profile<T>(leaf, r2[leaf], shape[leaf]);
        return combine<T>(v);
    }
    // Given k_bar: weights = d/dr2 of each leaf, and adds d/dvariance and d/dshape to `sums`, [LEAVES, 2].
    __device__ void pull(const T *r2, T k_bar, T *weights, double *sums) const {
        T g[LEAVES], v[LEAVES], share[LEAVES];
        for (int leaf = 0; leaf < LEAVES; leaf++) {
            g[leaf] = profile<T>(leaf, r2[leaf], shape[leaf]);
            v[leaf] = variance[leaf] * g[leaf];
        }
        shares<T>(v, share);
        for (int leaf = 0; leaf < LEAVES; leaf++) {
            const T bar = k_bar * share[leaf];
            weights[leaf] = bar * variance[leaf] * slope<T>(leaf, r2[leaf], g[leaf], shape[leaf]);
            sums[2 * leaf] += bar * g[leaf];
            if (shaped(leaf)) sums[2 * leaf + 1] += bar * variance[leaf] * shape_slope<T>(leaf, r2[leaf], g[leaf], shape[leaf]);
        }
    }
};

// prior = [k(x, x), its derivatives in the leaves' variances].
extern "C" __global__ void prior(const double *theta, double *out) {
    const Leaves<double> leaves(theta);
    double share[LEAVES];
    out[0] = combine<double>(leaves.variance);
    shares<double>(leaves.variance, share);
    for (int leaf = 0; leaf < LEAVES; leaf++) out[1 + leaf] = share[leaf];
}

// For distances by products: |x|^2 over lengthscales, [LEAVES, rows], and where `scaled` is not null -2 x / lengthscale^2,
// [LEAVES, rows, D]. A warp for each row and leaf.
template <class T> __device__ void norms_of(const T *x1, const double *theta, int rows, T *norm, T *scaled) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    if (warp >= rows * LEAVES) return;
    const int leaf = warp / rows, row = warp % rows;
    T sum = 0;
    for (int d = lane; d < D; d += WARP) {
        const T x = x1[(size_t)row * (D + 1) + 1 + d];
        const T precision = 1 / (theta[lengthscales_at(leaf) + d] * theta[lengthscales_at(leaf) + d]);
        sum += precision * x * x;
        if (scaled) scaled[(size_t)warp * D + d] = -2 * precision * x;
    }
    sum = warp_sum(sum);
    if (lane == 0) norm[warp] = sum;
}

extern "C" __global__ void norms(const REAL *x1, const double *theta, int rows, REAL *norm, REAL *scaled) {
    norms_of<REAL>(x1, theta, rows, norm, scaled);
}

extern "C" __global__ void wide_norms(const double *x1, const double *theta, int rows, double *norm, double *scaled) {
    norms_of<double>(x1, theta, rows, norm, scaled);
}

// k(x, z), [rows, columns].
extern "C" __global__ void __launch_bounds__(TILE_THREADS)
    cross(const REAL *x1, const REAL *z1, const double *theta, const REAL *products, const REAL *x_norms,
          const REAL *z_norms, int rows, int columns, REAL *k) {
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, row0 = blockIdx.y * TILE_ROWS, column0 = blockIdx.x * TILE_COLUMNS;
    REAL r2[LEAVES][BY_ROW][BY_COLUMN];
    if (PRODUCTS) distances_from<REAL>(products, x_norms, z_norms, rows, columns, row0, column0, r2);
    else distances<REAL>(x1, z1, theta, rows, columns, row0, column0, r2);
    const Leaves<REAL> leaves(theta);
    for (int a = 0; a < BY_ROW; a++)
        for (int b = 0; b < BY_COLUMN; b++) {
            const int row = row0 + y + 8 * a, column = column0 + x + 32 * b;
            REAL own[LEAVES];
            for (int leaf = 0; leaf < LEAVES; leaf++) own[leaf] = r2[leaf][a][b];
            if (row < rows && column < columns) k[(size_t)row * columns + column] = leaves.value(own);
        }
}

// Pulls k_bar back to r2: w, [LEAVES, rows, columns], and partial sums a block for variances and shapes, [blocks, LEAVES, 2]. Of
// k_bar the first `means` columns get mean_bar weights^T, and `covariances` columns from `start` on also `kb_bar`.
extern "C" __global__ void __launch_bounds__(TILE_THREADS)
    weigh(const REAL *k, const REAL *x1, const REAL *z1, const double *theta, const REAL *products, const REAL *x_norms,
          const REAL *z_norms, const REAL *mean_bar, const REAL *weights, int outputs, int means, const REAL *kb_bar,
          int start, int covariances, int rows, int columns, REAL *w, double *partial) {
    __shared__ REAL bars[TILE_ROWS][17], heights[TILE_COLUMNS][17];
    __shared__ double sums[32];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, row0 = blockIdx.y * TILE_ROWS, column0 = blockIdx.x * TILE_COLUMNS;
    REAL r2[LEAVES][BY_ROW][BY_COLUMN], k_bar[BY_ROW][BY_COLUMN], values[BY_ROW][BY_COLUMN];
    for (int a = 0; a < BY_ROW; a++)
        for (int b = 0; b < BY_COLUMN; b++) {
            const int row = row0 + y + 8 * a, column = column0 + x + 32 * b;
            const bool there = row < rows && column < columns;
            if (FROM_VALUE) values[a][b] = there ? k[(size_t)row * columns + column] : REAL(0);
            const bool of_covariance = there && column >= start && column < start + covariances;
            k_bar[a][b] = of_covariance ? kb_bar[(size_t)row * covariances + column - start] : REAL(0);
        }
    for (int p0 = 0; p0 < outputs; p0 += 16) {
        __syncthreads();
        for (int i = threadIdx.x; i < TILE_ROWS * 16; i += blockDim.x) {
            const int row = row0 + i / 16, p = p0 + i % 16;
            bars[i / 16][i % 16] = row < rows && p < outputs ? mean_bar[(size_t)row * outputs + p] : REAL(0);
        }
        for (int i = threadIdx.x; i < TILE_COLUMNS * 16; i += blockDim.x) {
            const int column = column0 + i / 16, p = p0 + i % 16;
            heights[i / 16][i % 16] = column < means && p < outputs ? weights[(size_t)column * outputs + p] : REAL(0);
        }
        __syncthreads();
        const int width = outputs - p0 < 16 ? outputs - p0 : 16;
        for (int p = 0; p < width; p++)
            for (int a = 0; a < BY_ROW; a++)
                for (int b = 0; b < BY_COLUMN; b++) k_bar[a][b] += bars[y + 8 * a][p] * heights[x + 32 * b][p];
    }
    if (FROM_VALUE) ;
    else if (PRODUCTS) distances_from<REAL>(products, x_norms, z_norms, rows, columns, row0, column0, r2);
    else distances<REAL>(x1, z1, theta, rows, columns, row0, column0, r2);
    const Leaves<REAL> leaves(theta);
    const REAL inverse = 1 / leaves.variance[0];
    double own_sums[2 * LEAVES] = {};
    for (int a = 0; a < BY_ROW; a++)
        for (int b = 0; b < BY_COLUMN; b++) {
            const int row = row0 + y + 8 * a, column = column0 + x + 32 * b;
            if (row >= rows || column >= columns) continue;
            if (FROM_VALUE) {
                const REAL share = k_bar[a][b] * values[a][b];
                w[(size_t)row * columns + column] = REAL(-0.5) * share;
                own_sums[0] += share * inverse;
                continue;
            }
            REAL own[LEAVES], out[LEAVES];
            for (int leaf = 0; leaf < LEAVES; leaf++) own[leaf] = r2[leaf][a][b];
            leaves.pull(own, k_bar[a][b], out, own_sums);
            for (int leaf = 0; leaf < LEAVES; leaf++) w[((size_t)leaf * rows + row) * columns + column] = out[leaf];
        }
    const size_t block = (size_t)blockIdx.y * gridDim.x + blockIdx.x;
    for (int i = 0; i < 2 * LEAVES; i++) {
        const double sum = block_sum(own_sums[i], sums);
        if (threadIdx.x == 0) partial[block * 2 * LEAVES + i] = sum;
    }
}

// k(z, z) with jitter on the diagonal, twice: one copy to keep, one to factor.
extern "C" __global__ void __launch_bounds__(TILE_THREADS)
    gram(const double *z1, const double *theta, const double *jitter, const double *products, const double *norms, int n,
         double *k, double *l) {
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, row0 = blockIdx.y * TILE_ROWS, column0 = blockIdx.x * TILE_COLUMNS;
    double r2[LEAVES][BY_ROW][BY_COLUMN];
    if (PRODUCTS) distances_from<double>(products, norms, norms, n, n, row0, column0, r2);
    else distances<double>(z1, z1, theta, n, n, row0, column0, r2);
    const Leaves<double> leaves(theta);
    const double epsilon = jitter[0] + jitter[1] * combine<double>(leaves.variance);
    for (int a = 0; a < BY_ROW; a++)
        for (int b = 0; b < BY_COLUMN; b++) {
            const int row = row0 + y + 8 * a, column = column0 + x + 32 * b;
            if (row >= n || column >= n) continue;
            double own[LEAVES];
            for (int leaf = 0; leaf < LEAVES; leaf++) own[leaf] = row == column ? 0 : r2[leaf][a][b];
            const double v = leaves.value(own) + (row == column ? epsilon : 0);
            k[(size_t)row * n + column] = v;
            l[(size_t)row * n + column] = v;
        }
}

// The pullback of `gram` to r2: w, [LEAVES, n, n], and partial sums as in `weigh`.
extern "C" __global__ void __launch_bounds__(TILE_THREADS)
    weigh_gram(const double *k, const double *z1, const double *theta, const double *jitter, const double *k_bar, int n,
               double *w, double *partial) {
    __shared__ double sums[32];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, row0 = blockIdx.y * TILE_ROWS, column0 = blockIdx.x * TILE_COLUMNS;
    double r2[LEAVES][BY_ROW][BY_COLUMN];
    if (!FROM_VALUE) distances<double>(z1, z1, theta, n, n, row0, column0, r2);
    const Leaves<double> leaves(theta);
    double own_sums[2 * LEAVES] = {};
    for (int a = 0; a < BY_ROW; a++)
        for (int b = 0; b < BY_COLUMN; b++) {
            const int row = row0 + y + 8 * a, column = column0 + x + 32 * b;
            if (row >= n || column >= n) continue;
            double own[LEAVES], out[LEAVES];
            for (int leaf = 0; leaf < LEAVES; leaf++) own[leaf] = r2[leaf][a][b];
            // Jitter that is relative to the diagonal moves with it.
            const double bar = k_bar[(size_t)row * n + column] * (row == column ? 1 + jitter[1] : 1);
            if (FROM_VALUE) {
                // On the diagonal stands jitter too, where the slope does not matter: the points are one.
                const double share = bar * (row == column ? leaves.variance[0] : k[(size_t)row * n + column]);
                w[(size_t)row * n + column] = -0.5 * share;
                own_sums[0] += share / leaves.variance[0];
                continue;
            }
            leaves.pull(own, bar, out, own_sums);
            for (int leaf = 0; leaf < LEAVES; leaf++) w[((size_t)leaf * n + row) * n + column] = out[leaf];
        }
    const size_t block = (size_t)blockIdx.y * gridDim.x + blockIdx.x;
    for (int i = 0; i < 2 * LEAVES; i++) {
        const double sum = block_sum(own_sums[i], sums);
        if (threadIdx.x == 0) partial[block * 2 * LEAVES + i] = sum;
    }
}

// What `weigh_gram` and a product of w with [1 | z] leave, t = W [1 | z], [n, D + 1], without w, where a covariance function is one squared
// exponential of few columns. A warp for each row.
extern "C" __global__ void __launch_bounds__(BLOCK)
    gram_sums(const double *__restrict__ k, const double *__restrict__ z1, const double *__restrict__ theta, const double *jitter,
              const double *__restrict__ k_bar, int n, double *__restrict__ t, double *__restrict__ partial) {
#if FROM_VALUE && !PRODUCTS
    __shared__ double zs[2 * WARP][(D + 1) | 1], sums[32];
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    const double variance = theta[variance_at(0)], relative = jitter[1];
    double own[D + 1] = {}, of_variance = 0;
    for (int first = 0; first < n; first += 2 * WARP) {
        double bars[2], values[2];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const int column = first + WARP * h + lane;
            const bool there = row < n && column < n;
            // Jitter that is relative to the diagonal moves with it, and what stands there beside the variance is jitter.
            bars[h] = there ? k_bar[(size_t)row * n + column] * (row == column ? 1 + relative : 1) : 0;
            values[h] = there ? (row == column ? variance : k[(size_t)row * n + column]) : 0;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < 2 * WARP * (D + 1); i += blockDim.x) {
            const int point = i / (D + 1), d = i % (D + 1);
            zs[point][d] = first + point < n ? z1[(size_t)(first + point) * (D + 1) + d] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const double share = bars[h] * values[h];
            of_variance += share;
#pragma unroll
            for (int d = 0; d <= D; d++) own[d] -= 0.5 * share * zs[WARP * h + lane][d];
        }
    }
#pragma unroll
    for (int d = 0; d <= D; d++) {
        const double sum = warp_sum(own[d]);
        if (lane == 0 && row < n) t[(size_t)row * (D + 1) + d] = sum;
    }
    of_variance = block_sum(of_variance / variance, sums);
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = of_variance, partial[2 * blockIdx.x + 1] = 0;
#endif
}

// x_bar (+)= sum over leaves of 2 / lengthscale^2 (x s_0 - s), where s = W [1 | z], [LEAVES, rows, D + 1]. `identity` adds
// mean_bar of output d to input d, where there is one.
extern "C" __global__ void input_gradient(const REAL *x1, const REAL *s, const double *theta, const REAL *mean_bar,
                                          int outputs, int identity, int add, int rows, REAL *x_bar) {
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (size_t)rows * D) return;
    const size_t row = i / D;
    const int d = i % D;
    const REAL x = x1[row * (D + 1) + 1 + d];
    REAL sum = add ? x_bar[i] : REAL(0);
    if (identity && d < outputs) sum += mean_bar[row * outputs + d];
    for (int leaf = 0; leaf < LEAVES; leaf++) {
        const REAL *own = s + ((size_t)leaf * rows + row) * (D + 1);
        const double lengthscale = theta[lengthscales_at(leaf) + d];
        sum += REAL(2 / (lengthscale * lengthscale)) * (x * own[0] - own[1 + d]);
    }
    x_bar[i] = sum;
}

// z_bar from s = W^T [1 | x] of the rows and t = W [1 | z] of the kernel matrices, [LEAVES, columns, D + 1] each; t counts twice.
extern "C" __global__ void inducing_gradient(const double *z, const double *s, const double *t, const double *theta,
                                             int columns, Control *control, double *z_bar) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= columns * D) return;
    const int row = i / D, d = i % D;
    double sum = 0;
    for (int leaf = 0; leaf < LEAVES; leaf++) {
        const size_t at = ((size_t)leaf * columns + row) * (D + 1);
        const double lengthscale = theta[lengthscales_at(leaf) + d];
        const double zeroth = s[at] + 2 * t[at], first = s[at + 1 + d] + 2 * t[at + 1 + d];
        sum += 2 / (lengthscale * lengthscale) * (z[i] * zeroth - first);
    }
    z_bar[i] = sum;
    if (!isfinite(sum)) control->bad = 1;
}

// The gradient at the kernel's parameters. A block for each leaf and lengthscale, then one for each leaf's variance and shape.
// `squares`: sums of s_n x_nd^2, [LEAVES, chunks, D]; `partial`: of rows and kernel matrices, [blocks, LEAVES, 2], as many as `blocks`
// says in all; `diagonal_bar`: of the rows.
extern "C" __global__ void theta_gradient(const double *z, const double *s, const double *t, const double *squares, int chunks,
                                          const double *partial, int blocks, const double *diagonal_bar, int rows,
                                          const double *prior, const double *theta, int columns, Control *control,
                                          double *theta_bar) {
    __shared__ double sums[32];
    if (blockIdx.x < LEAVES * D) {
        const int leaf = blockIdx.x / D, d = blockIdx.x % D;
        double sum = 0;
        for (int row = threadIdx.x; row < columns; row += blockDim.x) {
            const size_t at = ((size_t)leaf * columns + row) * (D + 1);
            const double v = z[row * D + d];
            sum += v * (v * (s[at] + 2 * t[at]) - 2 * (s[at + 1 + d] + t[at + 1 + d]));
        }
        for (int c = threadIdx.x; c < chunks; c += blockDim.x) sum += squares[((size_t)leaf * chunks + c) * D + d];
        sum = block_sum(sum, sums);
        const double lengthscale = theta[lengthscales_at(leaf) + d];
        if (threadIdx.x > 0) return;
        sum *= -2 / (lengthscale * lengthscale * lengthscale);
        theta_bar[lengthscales_at(leaf) + d] = sum;
        if (!isfinite(sum)) control->bad = 1;
        return;
    }
    const int leaf = blockIdx.x - LEAVES * D;
    double variance = 0, shape = 0, diagonal = 0;
    for (int b = threadIdx.x; b < blocks; b += blockDim.x) {
        variance += partial[(size_t)b * 2 * LEAVES + 2 * leaf];
        shape += partial[(size_t)b * 2 * LEAVES + 2 * leaf + 1];
    }
    for (int n = threadIdx.x; n < rows; n += blockDim.x) diagonal += diagonal_bar[n];
    variance = block_sum(variance + prior[1 + leaf] * diagonal, sums);
    shape = block_sum(shape, sums);
    if (threadIdx.x > 0) return;
    theta_bar[variance_at(leaf)] = variance;
    if (shaped(leaf)) theta_bar[shape_at(leaf)] = shape;
    if (!isfinite(variance) || !isfinite(shape)) control->bad = 1;
}
