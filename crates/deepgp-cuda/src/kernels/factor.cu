// Cholesky factors and their inverses. Matrices are row-major.

#if __CUDA_ARCH__ >= 900
// Where the three warps meet that see to the next block on the diagonal.
#define FRONT 1
// Pivots below the least number that is not denormal are bad.
#define LEAST_PIVOT 0x1p-1022

// The lower Cholesky factor of the 32 x 32 numbers in `from`, by one warp, a row a lane: into `to`, and scaled for those who solve with
// it into `scaled`, where [k][c] is l_ck / l_kk for c > k, and [k][k] is 1 / l_kk. Rows and columns from `count` on are those of the identity.
// `done(k)` is called when rows k to k + 7 of `scaled` are there, for whoever else wants them. What stands above the diagonal of `to` and below that of
// `scaled` means nothing. Returns 0, or the number of the first bad pivot, from 1.
//
// Who waits here waits for one long chain of operations, so two columns go at a time, whose roots overlap: for (a b; b c), l_22^2 = (a c - b^2) / a;
// there is no branch in it; and every lane computes the next two pivots for itself. Eight columns are taken off one another from lane to lane, and off
// those after them through `scaled`.
template <class Done>
__device__ int factor_block(const double (*from)[33], double (*to)[33], double (*scaled)[32], int count, Done done) {
    const int lane = threadIdx.x % WARP;
    int bad = 0;
    double own[32];
#pragma unroll
    for (int k = 0; k < 32; k++) own[k] = lane < count && k <= lane ? from[lane][k] : double(k == lane);
#pragma unroll
    for (int k0 = 0; k0 < 32; k0 += 8) {
        double raw[8]; // own numbers of the eight columns before they were scaled
        double one = __shfl_sync(FULL, own[k0], k0);
        double between = __shfl_sync(FULL, own[k0], k0 + 1), two = __shfl_sync(FULL, own[k0 + 1], k0 + 1);
#pragma unroll
        for (int k = k0; k < k0 + 8; k += 2) {
            const double both = fma(one, two, -between * between);
            const double one_root = inverse_root(one), both_root = inverse_root(both);
            const bool good = (one >= LEAST_PIVOT) & isfinite(one), both_good = good & (both >= LEAST_PIVOT) & isfinite(both);
            bad = bad > 0 ? bad : !good ? k + 1 : !both_good ? k + 2 : 0;
            const double first = good ? one_root : 1, second = both_good ? one * first * both_root : 1;
            raw[k - k0] = own[k];
            own[k] *= first;
            raw[k + 1 - k0] = own[k + 1] - own[k] * (between * first);
            own[k + 1] = raw[k + 1 - k0] * second;
            if (k + 2 < k0 + 8) {
                one = __shfl_sync(FULL, own[k + 2], k + 2);
                between = __shfl_sync(FULL, own[k + 2], k + 3), two = __shfl_sync(FULL, own[k + 3], k + 3);
                double left[8], right[8]; // of the two columns, the numbers in the rows of those after them
#pragma unroll
                for (int c = k + 2; c < k0 + 8; c++) {
                    left[c - k0] = __shfl_sync(FULL, own[k], c);
                    right[c - k0] = __shfl_sync(FULL, own[k + 1], c);
                }
                const int a = k + 2 - k0, b = a + 1;
                one = one - left[a] * left[a] - right[a] * right[a];
                between = between - left[b] * left[a] - right[b] * right[a];
                two = two - left[b] * left[b] - right[b] * right[b];
#pragma unroll
                for (int c = k + 2; c < k0 + 8; c++) {
                    own[c] -= own[k] * left[c - k0];
                    own[c] -= own[k + 1] * right[c - k0];
                }
            }
            // What others need comes last: it fills the wait for the next roots.
            to[lane][k] = own[k];
            to[lane][k + 1] = own[k + 1];
            scaled[k][lane] = lane == k ? first : own[k] * first;
            scaled[k + 1][lane] = lane == k + 1 ? second : own[k + 1] * second;
        }
        __syncwarp();
        done(k0);
#pragma unroll
        for (int c = k0 + 8; c < 32; c++)
#pragma unroll
            for (int k = k0; k < k0 + 8; k++) own[c] -= raw[k - k0] * scaled[k][c];
    }
    return bad;
}

// own = own l^-T for a row of 32 numbers, with what `factor_block` leaves of l.
__device__ __forceinline__ void solve_row(double own[32], const double (*scaled)[32]) {
#pragma unroll
    for (int k = 0; k < 32; k++)
#pragma unroll
        for (int c = k + 1; c < 32; c++) own[c] -= own[k] * scaled[k][c];
#pragma unroll
    for (int k = 0; k < 32; k++) own[k] *= scaled[k][k];
}

// L of L L^T = a, in place, by a cluster of 8 blocks: a panel of 32 columns at a time. The rows below the panel's block on the diagonal
// are solved, a row a thread; then what lies right of the panel is updated, 16 x 16 numbers a warp. Each block updates the next block
// on the diagonal for itself and has it factored by one warp while the others go on. What stands above the diagonal is lost. `info`
// becomes 0, or the number of the first bad pivot, from 1.
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(WARP *FACTOR_WARPS)
    factor_lower(double *a, int n, int *info) {
    __shared__ double diagonal[32][33], next[32][33];
    __shared__ __align__(16) double scaled[32][32];
    const int rank = blockIdx.x, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    int bad = 0;
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
        next[i / 32][i % 32] = i / 32 < n && i % 32 < n ? a[(size_t)(i / 32) * n + i % 32] : 0;
    }
    __syncthreads();
    const auto nobody = [](int) {};
    if (warp == 0) bad = factor_block(next, diagonal, scaled, n, nobody);
    __syncthreads();
    for (int left = 0; left < n; left += 32) {
        const int below = left + 32;
        if (rank == 0) {
            for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
                const int row = left + i / 32, column = left + i % 32;
                if (row < n && column <= row) __stcg(a + (size_t)row * n + column, diagonal[i / 32][i % 32]);
            }
        }
        for (int row = below + threadIdx.x * CLUSTER + rank; row < n; row += FACTOR_WARPS * WARP * CLUSTER) {
            double own[32];
#pragma unroll
            for (int k = 0; k < 32; k++) own[k] = __ldcg(a + (size_t)row * n + left + k);
            solve_row(own, scaled);
#pragma unroll
            for (int k = 0; k < 32; k++) __stcg(a + (size_t)row * n + left + k, own[k]);
        }
        cluster_arrive();
        cluster_wait();
        if (below >= n) break;
        const int side = (n - below + 15) / 16, blocks = side * (side + 1) / 2;
        // Blocks 0, 1 and 2 make the next block on the diagonal.
        const int step = (FACTOR_WARPS - 3) * CLUSTER;
        for (int block = warp < 3 ? warp : 3 + (warp - 3) * CLUSTER + rank; block < blocks; block += step) {
            int i = (int)((sqrtf(8.0f * block + 1) - 1) / 2);
            while ((i + 1) * (i + 2) / 2 <= block) i++;
            while (i * (i + 1) / 2 > block) i--;
            const int j = block - i * (i + 1) / 2;
            const int top = below + 16 * i + lane / 4, other = below + 16 * j + lane / 4, k0 = left + lane % 4;
            const int column = below + 16 * j + 2 * (lane % 4);
            double sum[2][4];
#pragma unroll
            for (int g = 0; g < 2; g++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int row = top + 8 * (e / 2), at = column + 8 * g + e % 2;
                    sum[g][e] = row < n && at < n ? __ldcg(a + (size_t)row * n + at) : 0;
                }
#pragma unroll
            for (int half = 0; half < 2; half++) {
                double one[2][4], two[2][4];
#pragma unroll
                for (int k = 0; k < 4; k++) {
                    const int at = k0 + 16 * half + 4 * k;
#pragma unroll
                    for (int h = 0; h < 2; h++) {
                        one[h][k] = top + 8 * h < n ? -__ldcg(a + (size_t)(top + 8 * h) * n + at) : 0;
                        two[h][k] = other + 8 * h < n ? __ldcg(a + (size_t)(other + 8 * h) * n + at) : 0;
                    }
                }
#pragma unroll
                for (int k = 0; k < 4; k += 2) {
                    const double left_part[4] = {one[0][k], one[1][k], one[0][k + 1], one[1][k + 1]};
#pragma unroll
                    for (int g = 0; g < 2; g++) multiply_add(left_part, two[g][k], two[g][k + 1], sum[g]);
                }
            }
#pragma unroll
            for (int g = 0; g < 2; g++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int row = top + 8 * (e / 2), at = column + 8 * g + e % 2;
                    if (warp < 3) next[row - below][at - below] = sum[g][e];
                    else if (row < n && at < n) __stcg(a + (size_t)row * n + at, sum[g][e]);
                }
            if (warp < 3) break;
        }
        if (warp < 3) {
            meet(FRONT, 3 * WARP);
            if (warp == 0) {
                const int found = factor_block(next, diagonal, scaled, n - below, nobody);
                if (bad == 0 && found > 0) bad = below + found;
            }
        }
        cluster_arrive();
        cluster_wait();
    }
    if (rank == 0 && threadIdx.x == 0) *info = bad;
}
#endif

// R = L^-1, a strip of 8 columns a block of 8 warps. Blocks of 32 rows are solved one after the other, a warp for each column and a
// lane for each row, and what is solved is taken off all rows below at once. `l` is lower triangular (what stands above is not
// looked at), its rows `stride` apart, matrices one after the other by blockIdx.y. The block of the first strip also writes log |L L^T|.
extern "C" __global__ void __launch_bounds__(32 * STRIP) invert_lower(const double *__restrict__ l, int stride,
                                                                      double *__restrict__ r, int n, double *log_det) {
    extern __shared__ double x[]; // [n - first, STRIP]: right-hand sides, then solutions
    __shared__ double tile[32][33], sums[32];
    const int lane = threadIdx.x % WARP, column = threadIdx.x / WARP;
    const int strip = blockIdx.x * STRIP, first = strip / 32 * 32;
    l += (size_t)blockIdx.y * n * stride;
    r += (size_t)blockIdx.y * n * n;
    for (int i = threadIdx.x; i < (n - first) * STRIP; i += blockDim.x) x[i] = first + i / STRIP == strip + i % STRIP;
    // A thread's four numbers of the next block on the diagonal, fetched while the one before is at work.
    double next[4];
    auto fetch = [&](int top) {
        for (int i = 0; i < 4; i++) {
            const int a = 8 * i + column, row = top + a;
            next[i] = row < n && lane <= a ? l[(size_t)row * stride + top + lane] : double(a == lane);
        }
    };
    fetch(first);
    for (int top = first; top < n; top += 32) {
        for (int i = 0; i < 4; i++) tile[8 * i + column][lane] = next[i];
        __syncthreads();
        if (top + 32 < n) fetch(top + 32);
        double *own = x + (top - first + lane) * STRIP + column;
        double sum = top + lane < n ? *own : 0;
        const double inverse = 1 / tile[lane][lane];
#pragma unroll 8
        for (int k = 0; k < 32; k++) {
            const double solved = __shfl_sync(FULL, sum * inverse, k);
            if (lane > k) sum -= tile[lane][k] * solved;
        }
        if (top + lane < n) *own = sum * inverse;
        __syncthreads();
        const double *done = x + (top - first) * STRIP;
        for (int row = top + 32 + threadIdx.x; row < n; row += blockDim.x) {
            const double *from = l + (size_t)row * stride + top;
            double *at = x + (row - first) * STRIP, rest[STRIP], left[32];
#pragma unroll
            for (int k = 0; k < 32; k++) left[k] = from[k];
            for (int c = 0; c < STRIP; c++) rest[c] = at[c];
#pragma unroll
            for (int k = 0; k < 32; k++)
                for (int c = 0; c < STRIP; c++) rest[c] -= left[k] * done[k * STRIP + c];
            for (int c = 0; c < STRIP; c++) at[c] = rest[c];
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n * STRIP; i += blockDim.x) {
        const int row = i / STRIP, j = strip + i % STRIP;
        if (j < n) r[(size_t)row * n + j] = row < first ? 0 : x[i - first * STRIP];
    }
    if (blockIdx.x == 0) {
        double sum = 0;
        for (int i = threadIdx.x; i < n; i += blockDim.x) sum += 2 * log(l[(size_t)i * stride + i]);
        sum = block_sum(sum, sums);
        if (threadIdx.x == 0) log_det[blockIdx.y] = sum;
    }
}
