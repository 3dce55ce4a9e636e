// Sums of weighted outer products on the matrix units: for each output p, sum_n e_np a_n a_n^T, of which the lower triangle is enough.

#if __CUDA_ARCH__ >= 900 && DOUBLE
#define STAGE 16
// Rows of a tile are so far apart that a half-warp's numbers, of four rows and four columns, lie in different banks.
#define APART (SIDE + 4)

// One block: tiles I >= J of 32 x 32 numbers, up to 10 outputs, one chunk of rows. A warp takes 8 columns of tile J and every other
// output of the group; it keeps 32 x 8 sums for each. Rows come 16 at a time through shared memory, the next ones while these are at
// work. blockIdx.x: the pair (I, J); blockIdx.y: chunk and group. A chunk has `chunk_rows`, the last one what is left. Writes to
// [chunks, P, m, m].
extern "C" __global__ void __launch_bounds__(SYMMETRIC_THREADS, 2)
    symmetric_sums(const REAL *__restrict__ a, int a_stride, const REAL *__restrict__ e, int all_rows, int chunk_rows,
                   int outputs, int m, REAL *__restrict__ partial) {
    __shared__ double left[2][STAGE][APART], right[2][STAGE][APART], weights[2][STAGE][GROUP + 1];
    const int groups = (outputs + GROUP - 1) / GROUP, group = blockIdx.y % groups * GROUP, chunk = blockIdx.y / groups;
    int i = (int)((sqrtf(8.0f * blockIdx.x + 1) - 1) / 2);
    while ((i + 1) * (i + 2) / 2 <= blockIdx.x) i++;
    while (i * (i + 1) / 2 > blockIdx.x) i--;
    const int j = blockIdx.x - i * (i + 1) / 2;
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int strip = warp % 4 * 8, first = warp / 4; // outputs first, first + 2, ...
    const int count = outputs - group < GROUP ? outputs - group : GROUP;
    const int rows = min(chunk_rows, all_rows - chunk * chunk_rows);
    a += (size_t)chunk * chunk_rows * a_stride;
    e += (size_t)chunk * chunk_rows * outputs + group;
    double sums[GROUP / 2][2][4] = {};

    // A thread fetches two numbers of each tile and at most one weight: those of rows `from` on.
    double next[5];
    auto fetch = [&](int from) {
        for (int h = 0; h < 2; h++) {
            const int row = from + warp + 8 * h;
            const bool there = row < rows;
            next[h] = there && SIDE * i + lane < m ? a[(size_t)row * a_stride + SIDE * i + lane] : 0;
            next[2 + h] = there && SIDE * j + lane < m ? a[(size_t)row * a_stride + SIDE * j + lane] : 0;
        }
        const int row = from + threadIdx.x / 16, p = threadIdx.x % 16;
        next[4] = row < rows && p < count ? e[(size_t)row * outputs + p] : 0;
    };
    auto place = [&](int stage) {
        for (int h = 0; h < 2; h++) {
            left[stage][warp + 8 * h][lane] = next[h];
            right[stage][warp + 8 * h][lane] = next[2 + h];
        }
        if (threadIdx.x % 16 < GROUP) weights[stage][threadIdx.x / 16][threadIdx.x % 16] = next[4];
    };
    fetch(0);
    place(0);
    __syncthreads();
    for (int from = 0, stage = 0; from < rows; from += STAGE, stage ^= 1) {
        if (from + STAGE < rows) fetch(from + STAGE);
#pragma unroll
        for (int k = 0; k < STAGE; k += 8) {
            const int n = k + lane % 4, at = lane / 4;
            double own[2][4];
#pragma unroll
            for (int h = 0; h < 2; h++)
#pragma unroll
                for (int c = 0; c < 4; c++) own[h][c] = left[stage][n + c / 2 * 4][16 * h + c % 2 * 8 + at];
            const double upper = right[stage][n][strip + at], lower = right[stage][n + 4][strip + at];
#pragma unroll
            for (int g = 0; g < GROUP / 2; g++) {
                const int p = first + 2 * g;
                if (p >= count) break;
                const double b0 = upper * weights[stage][n][p], b1 = lower * weights[stage][n + 4][p];
                multiply_add(own[0], b0, b1, sums[g][0]);
                multiply_add(own[1], b0, b1, sums[g][1]);
            }
        }
        if (from + STAGE < rows) place(stage ^ 1);
        __syncthreads();
    }
    for (int g = 0; g < GROUP / 2; g++) {
        const int p = group + first + 2 * g;
        if (first + 2 * g >= count) break;
        for (int h = 0; h < 2; h++)
            for (int c = 0; c < 4; c++) {
                const int row = SIDE * i + 16 * h + c / 2 * 8 + lane / 4, column = SIDE * j + strip + 2 * (lane % 4) + c % 2;
                if (row < m && column < m) partial[(((size_t)chunk * outputs + p) * m + row) * m + column] = sums[g][h][c];
            }
    }
}
#endif

// to = sum over chunks of what `symmetric_sums` wrote, mirrored above the diagonal.
extern "C" __global__ void sum_triangles(const REAL *from, int chunks, int outputs, int m, double *to) {
    const int at = blockIdx.x * blockDim.x + threadIdx.x, square = m * m;
    if (at >= outputs * square) return;
    const int row = at % square / m, column = at % m;
    const size_t lower = row >= column ? at : (size_t)(at / square) * square + (size_t)column * m + row;
    double sum = 0;
    for (int c = 0; c < chunks; c++) sum += from[(size_t)c * outputs * square + lower];
    to[at] = sum;
}
