// M x M work: traces, elementwise parts of products. Matrices are row-major.

// to = from, in the rows' precision.
extern "C" __global__ void narrow(const double *from, REAL *to, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = from[i];
}

// *to = factor * sum a b. One block.
extern "C" __global__ void dot(const double *a, const double *b, double factor, int n, double *to) {
    __shared__ double sums[32];
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[i] * b[i];
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0) *to = factor * sum;
}

// y = x + factor * kl_bar * z + keep * y, where kl_bar = -kl_weight of the step; x may be null.
extern "C" __global__ void add_kl(const double *x, const double *z, double factor, double keep, int n,
                                  const Step *steps, const Control *control, double *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double kl_bar = -steps[control->cursor].kl_weight;
    const double before = keep == 0 ? 0 : keep * y[i];
    y[i] = (x ? x[i] : 0) + factor * kl_bar * z[i] + before;
}

// to = diag(k) from, rows of `width`.
extern "C" __global__ void scale_rows(const double *k, const double *from, int n, int width, double *to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * width) to[i] = k[(size_t)(i / width) * (n + 1)] * from[i];
}

// k_bar_ii += sum_p a_ip b_ip.
extern "C" __global__ void add_row_dots(const double *a, const double *b, int n, int width, double *k_bar) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0;
    for (int p = 0; p < width; p++) sum += a[i * width + p] * b[i * width + p];
    k_bar[(size_t)i * (n + 1)] += sum;
}

// g_p = identity + from_p in the rows' precision, [P, n, n].
extern "C" __global__ void complement(const double *from, int n, int count, REAL *g) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int at = i % (n * n);
    g[i] = from[i] + (at / n == at % n ? 1 : 0);
}

// h_ii += 1 for [P, n, n].
extern "C" __global__ void add_identity(double *h, int n, int outputs) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * outputs) h[(size_t)(i / n) * n * n + (size_t)(i % n) * (n + 1)] += 1;
}

// The KL of each output: 1/2 (|v_p|^2 - sum_i log f_ii^2 - n + log_det); log_det may be null. A block for each.
extern "C" __global__ void covariance_kl(const double *v, const double *f, int n, const double *log_det, double *kl) {
    __shared__ double sums[32];
    v += (size_t)blockIdx.x * n * n;
    f += (size_t)blockIdx.x * n * n;
    double sum = 0;
#pragma unroll 4
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) sum += v[i] * v[i];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const double own = f[(size_t)i * (n + 1)];
        sum -= log(own * own);
    }
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0) kl[blockIdx.x] = 0.5 * (sum - n + (log_det ? *log_det : 0));
}

// The dual form's: 1/2 (log |H_p| - n + tr H_p^-1).
extern "C" __global__ void dual_kl(const double *h_inverse, int n, const double *log_det, double *kl) {
    __shared__ double sums[32];
    h_inverse += (size_t)blockIdx.x * n * n;
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += h_inverse[(size_t)i * (n + 1)];
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0) kl[blockIdx.x] = 0.5 * (sum - n + log_det[blockIdx.x]);
}

// The gradient at free lower triangles, [P, n, n]: zeros above the diagonal, and on it -kl_bar / f_ii where log |f f^T| is in the KL.
extern "C" __global__ void finish_factor(const double *f, int n, int count, int with_log, const Step *steps,
                                         const Control *control, double *f_bar) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int row = i % (n * n) / n, column = i % n;
    if (column > row) f_bar[i] = 0;
    if (column == row && with_log) f_bar[i] += steps[control->cursor].kl_weight / f[i];
}

// Zeros above the diagonal.
extern "C" __global__ void clear_above(double *m, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * n && i % n > i / n) m[i] = 0;
}

// psi, [n, n], is half of the symmetric matrix with this lower triangle: -left right^T, [n, width] each, unless they are null; in its leading
// block of order m also `inner`, [m, m], unless that is null; and kl_bar * outputs on that block's diagonal. A block for 32 x 32 numbers.
extern "C" __global__ void __launch_bounds__(BLOCK)
    mirror_half(const double *left, const double *right, int width, const double *inner, int m, int outputs, int n,
                const Step *steps, const Control *control, double *psi) {
    __shared__ double lefts[32][17], rights[32][17];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, high = max(blockIdx.x, blockIdx.y), low = min(blockIdx.x, blockIdx.y);
    double sums[4] = {};
    for (int p0 = 0; left && p0 < width; p0 += 16) {
        __syncthreads();
        for (int i = threadIdx.x; i < 512; i += BLOCK) {
            const int above = 32 * high + i / 16, below = 32 * low + i / 16, p = p0 + i % 16;
            lefts[i / 16][i % 16] = above < n && p < width ? left[(size_t)above * width + p] : 0;
            rights[i / 16][i % 16] = below < n && p < width ? right[(size_t)below * width + p] : 0;
        }
        __syncthreads();
        for (int a = 0; a < 4; a++) {
            // Above the diagonal stands what is below it.
            const int row = y + 8 * a;
            const bool mirrored = blockIdx.y < blockIdx.x || (blockIdx.y == blockIdx.x && row < x);
            for (int p = 0; p < 16; p++) sums[a] -= lefts[mirrored ? x : row][p] * rights[mirrored ? row : x][p];
        }
    }
    for (int a = 0; a < 4; a++) {
        const int row = 32 * blockIdx.y + y + 8 * a, column = 32 * blockIdx.x + x;
        if (row >= n || column >= n) continue;
        const int further = max(row, column), nearer = min(row, column);
        if (inner && further < m) sums[a] += inner[(size_t)further * m + nearer];
        if (row == column && row < m) sums[a] -= outputs * steps[control->cursor].kl_weight;
        psi[(size_t)row * n + column] = 0.5 * sums[a];
    }
}

// to = r from, a lower triangle of order n times [n, width], and free_bar = to + kl_bar free. A warp for each row.
extern "C" __global__ void __launch_bounds__(BLOCK)
    whiten(const double *__restrict__ r, const double *__restrict__ from, const double *__restrict__ free, int n, int width,
           const Step *steps, const Control *control, double *__restrict__ to, double *__restrict__ free_bar) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
    if (row >= n) return;
    const double kl_bar = -steps[control->cursor].kl_weight;
    for (int p0 = 0; p0 < width; p0 += 16) {
        double sums[16] = {};
#pragma unroll 2
        for (int k = lane; k <= row; k += WARP) {
            const double own = r[(size_t)row * n + k];
#pragma unroll
            for (int i = 0; i < 16; i++)
                if (p0 + i < width) sums[i] += own * from[(size_t)k * width + p0 + i];
        }
#pragma unroll
        for (int i = 0; i < 16; i++) {
            if (p0 + i >= width) break;
            const double sum = warp_sum(sums[i]);
            const size_t at = (size_t)row * width + p0 + i;
            if (lane > 0) continue;
            to[at] = sum;
            free_bar[at] = sum + kl_bar * free[at];
        }
    }
}

// h_bar = 1/2 kl_bar (h_inverse - h_square).
extern "C" __global__ void dual_h_bar(const double *h_inverse, const double *h_square, int count, const Step *steps,
                                      const Control *control, double *h_bar) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) h_bar[i] = -0.5 * steps[control->cursor].kl_weight * (h_inverse[i] - h_square[i]);
}

// to (+)= sum over chunks, [chunks, n], in order.
extern "C" __global__ void sum_chunks(const REAL *from, int chunks, int n, int add, double *to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = add ? to[i] : 0;
    for (int c = 0; c < chunks; c++) sum += from[(size_t)c * n + i];
    to[i] = sum;
}

// The leading block of order m of `to`, whose rows are `stride` apart, (+)= the sum over matrices, [count, m, m], in order.
extern "C" __global__ void sum_squares(const double *from, int count, int m, int add, double *to, int stride) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * m) return;
    double *own = to + (size_t)(i / m) * stride + i % m;
    double sum = add ? *own : 0;
    for (int c = 0; c < count; c++) sum += from[(size_t)c * m * m + i];
    *own = sum;
}
