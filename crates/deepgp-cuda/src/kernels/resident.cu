// The Cholesky factor of a matrix that fits into the shared memory of a cluster of 8 blocks, and a solve with it. What one block needs
// of another it reads there, so nothing waits for the device's memory between the first number and the last. Numbers of other blocks
// are fetched in whole rows, and once: one here and one there takes five times as long as all the rest.
//
// Rows come in strips of 32, and a strip is a row of tiles of 32 x 32 numbers on and left of the diagonal. Block r has strips r and
// 15 - r: with 16 strips every block has 17 tiles.

#if __CUDA_ARCH__ >= 900
// Rows of a tile are so far apart that lanes which read a column, or a fragment for the matrix units, find it in different banks.
#define ROW_APART 33
#define TILE_NUMBERS (32 * ROW_APART)
// Where the warps of a block meet that are not its front, and the first of four places where a front has eight more rows to show.
#define REST 2
#define SHOWN 3
typedef double (*Tile)[ROW_APART];

// The block that has a strip, and where a tile of the strip stands there.
__device__ __forceinline__ int owner_of(int strip) { return strip < CLUSTER ? strip : 2 * CLUSTER - 1 - strip; }
__device__ __forceinline__ Tile tile_of(double *tiles, int strip, int column) {
    return (Tile)(tiles + ((strip < CLUSTER ? 0 : 2 * CLUSTER - strip) + column) * TILE_NUMBERS);
}

// t = t l^-T for a tile, by one warp, a row a lane, with what `factor_block` leaves of l.
__device__ void solve_tile(Tile t, const double (*scaled)[32]) {
    const int lane = threadIdx.x % WARP;
    double own[32];
#pragma unroll
    for (int k = 0; k < 32; k++) own[k] = t[lane][k];
    solve_row(own, scaled);
#pragma unroll
    for (int k = 0; k < 32; k++) t[lane][k] = own[k];
}

// t = t^-1 for a lower triangular tile, by one warp, a column a lane; `inverses` has one over its diagonal. Above the diagonal comes 0.
__device__ void invert_tile(Tile t, const double *inverses) {
    const int lane = threadIdx.x % WARP;
    double own[32];
#pragma unroll
    for (int k = 0; k < 32; k++) own[k] = k == lane;
#pragma unroll
    for (int k = 0; k < 32; k++) {
        own[k] *= inverses[k];
#pragma unroll
        for (int c = k + 1; c < 32; c++) own[c] -= own[k] * t[c][k];
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 32; k++) t[k][lane] = own[k];
}

// 16 x 16 numbers of `to` less those of one two^T, by one warp; `half` and `other` say which rows of `one` and of `two`.
__device__ void update_quarter(Tile to, const Tile one, const Tile two, int half, int other) {
    const int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    double sum[2][4];
#pragma unroll
    for (int b = 0; b < 2; b++)
#pragma unroll
        for (int e = 0; e < 4; e++) sum[b][e] = to[16 * half + g + e / 2 * 8][16 * other + 8 * b + 2 * t + e % 2];
#pragma unroll
    for (int k0 = 0; k0 < 32; k0 += 16) {
        // Both factors take their columns in the same order, in which a half-warp's numbers lie in different banks.
        double left[2][4], right[2][4];
#pragma unroll
        for (int k = 0; k < 4; k++)
#pragma unroll
            for (int b = 0; b < 2; b++) {
                left[b][k] = -one[16 * half + 8 * b + g][k0 + 4 * t + k];
                right[b][k] = two[16 * other + 8 * b + g][k0 + 4 * t + k];
            }
#pragma unroll
        for (int k = 0; k < 4; k += 2) {
            const double part[4] = {left[0][k], left[1][k], left[0][k + 1], left[1][k + 1]};
#pragma unroll
            for (int b = 0; b < 2; b++) multiply_add(part, right[b][k], right[b][k + 1], sum[b]);
        }
    }
#pragma unroll
    for (int b = 0; b < 2; b++)
#pragma unroll
        for (int e = 0; e < 4; e++) to[16 * half + g + e / 2 * 8][16 * other + 8 * b + 2 * t + e % 2] = sum[b][e];
}

// to = t^T side, or that added to it, for a tile and numbers [width, 32], by all warps of a block: 16 x 8 numbers each at a time.
__device__ void transposed_times(double *to, const Tile tile, const double *side, int width, bool add) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4;
    for (int part = warp; part < 2 * ((width + 7) / 8); part += FACTOR_WARPS) {
        const int half = part % 2, first = part / 2 * 8;
        double sum[4];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int p = first + 2 * t + e % 2;
            sum[e] = add && p < width ? to[p * ROW_APART + 16 * half + g + e / 2 * 8] : 0;
        }
        // Rows in an order in which a half-warp's numbers lie in different banks.
        double left[2][8], right[8];
#pragma unroll
        for (int k = 0; k < 8; k++) {
            const int row = k / 4 * 16 + 4 * t + k % 4;
#pragma unroll
            for (int h = 0; h < 2; h++) left[h][k] = tile[row][16 * half + 8 * h + g];
            right[k] = first + g < width ? side[(first + g) * ROW_APART + row] : 0;
        }
#pragma unroll
        for (int k = 0; k < 8; k += 2) {
            const double two[4] = {left[0][k], left[1][k], left[0][k + 1], left[1][k + 1]};
            multiply_add(two, right[k], right[k + 1], sum);
        }
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int p = first + 2 * t + e % 2;
            if (p < width) to[p * ROW_APART + 16 * half + g + e / 2 * 8] = sum[e];
        }
    }
}

// L of L L^T = a, in place (what stands above the diagonal is left as it is), and, unless `free` is null, weights = L^-T free, both
// [n, width]. `info` becomes 0, or the number of the first bad pivot, from 1.
//
// A strip at a time: its block on the diagonal is factored by one warp, and two others show all blocks what they need of it; the tiles below it are
// solved, and all tiles right of it are updated, with tiles of other blocks fetched first, STAGED at a time. The block that has the next strip
// solves and updates that one first and factors it while all others go on.
extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(WARP *FACTOR_WARPS)
    factor_resident(double *a, int n, const double *free, int width, double *weights, int *info) {
    extern __shared__ double resident[];
    double(*scaled)[32][32] = (double(*)[32][32])resident; // of the strip at hand and the next, what is solved with it
    double *beside = resident + 2 * 32 * 32;
    double(*own_inverses)[32] = (double(*)[32])beside; // one over the diagonals of the block's own strips
    int *bad_pivot = (int *)(beside + 64);
    double *tiles = beside + 66, *rest = tiles + (n > 32 * CLUSTER ? 2 * CLUSTER + 1 : (n + 31) / 32) * TILE_NUMBERS;
    const int rank = blockIdx.x, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, strips = (n + 31) / 32;
    const int own[2] = {rank, 2 * CLUSTER - 1 - rank};
    for (int s = 0; s < 2; s++) {
        if (own[s] >= strips) continue;
#pragma unroll 8
        for (int i = threadIdx.x; i < (own[s] + 1) * 1024; i += WARP * FACTOR_WARPS) {
            const int row = 32 * own[s] + i / 32 % 32, column = i / 1024 * 32 + i % 32;
            // Rows that fill up the last strip are those of the identity.
            const double v = row < n && column <= row ? a[(size_t)row * n + column] : double(row == column);
            tile_of(tiles, own[s], i / 1024)[i / 32 % 32][i % 32] = v;
        }
    }
    if (threadIdx.x == 0) *bad_pivot = 0;
    // Nobody is shown anything before it has begun.
    cluster_arrive();
    cluster_wait();
    int bad = 0;
    // Strip k is done, and strip k + 1 is next.
    for (int k = -1; k + 1 < strips; k++) {
        // Three warps of the block that has the next strip see to that alone.
        const bool front = owner_of(k + 1) == rank;
        if (k >= 0) {
            const int strip = warp == 0 && front ? k + 1 : warp == 3 ? own[0] : warp == 4 ? own[1] : 0;
            if (strip < strips && (strip > k + 1 || (strip == k + 1 && warp == 0)))
                solve_tile(tile_of(tiles, strip, k), scaled[k % 2]);
        }
        if (front && warp < 3) {
            Tile next = tile_of(tiles, k + 1, k + 1);
            double(*to)[32] = scaled[(k + 1) % 2], *inverses = own_inverses[k + 1 < CLUSTER ? 0 : 1];
            meet(FRONT, 3 * WARP);
            cluster_arrive();
            if (k >= 0) {
                update_quarter(next, tile_of(tiles, k + 1, k), tile_of(tiles, k + 1, k), warp > 0, warp > 1);
                meet(FRONT, 3 * WARP);
            }
            if (warp == 0) {
                const int found = factor_block(next, next, to, 32, [](int first) { pass(SHOWN + first / 8, 3 * WARP); });
                if (bad == 0 && found > 0) bad = 32 * (k + 1) + found;
                if (lane == 0) *bad_pivot = bad;
            } else {
                for (int first = 0; first < 32; first += 8) {
                    meet(SHOWN + first / 8, 3 * WARP);
                    for (int row = first + warp - 1; row < first + 8; row += 2) {
                        const double v = to[row][lane];
#pragma unroll
                        for (int i = 1; i < CLUSTER; i++) in_block(&to[row][lane], (rank + i) % CLUSTER)[0] = v;
                        if (lane == row) inverses[row] = v;
                    }
                }
            }
            cluster_wait();
        } else {
            cluster_arrive();
            cluster_wait();
            // Tiles of the own strips from column k + 1 on, in quarters.
            const int first = front ? 3 : 0, warps = FACTOR_WARPS - first;
            const int upper = k >= 0 && own[0] > k + 1 && own[0] < strips ? own[0] - k : 0;
            const int lower = k >= 0 && own[1] > k + 1 && own[1] < strips ? own[1] - k : 0;
            for (int from = 0; from < max(upper, lower); from += STAGED) {
                const int above = min(max(upper - from, 0), STAGED), below = min(max(lower - from, 0), STAGED);
                if (from > 0) meet(REST, WARP * warps);
#pragma unroll 4
                for (int row = warp - first; row < 32 * max(above, below); row += warps) {
                    const int column = k + 1 + from + row / 32;
                    rest[row / 32 * TILE_NUMBERS + row % 32 * ROW_APART + lane] =
                        in_block(tile_of(tiles, column, k), owner_of(column))[row % 32][lane];
                }
                meet(REST, WARP * warps);
                for (int i = warp - first; i < 4 * (above + below); i += warps) {
                    const int s = i / 4 >= above, tile = i / 4 - (s ? above : 0), column = k + 1 + from + tile, half = i % 4 / 2, other = i % 2;
                    if (column == own[s] && half < other) continue;
                    update_quarter(tile_of(tiles, own[s], column), tile_of(tiles, own[s], k), (Tile)(rest + tile * TILE_NUMBERS), half, other);
                }
            }
        }
        cluster_arrive();
        cluster_wait();
    }
    for (int s = 0; s < 2; s++) {
        if (own[s] >= strips) continue;
#pragma unroll 8
        for (int i = threadIdx.x; i < (own[s] + 1) * 1024; i += WARP * FACTOR_WARPS) {
            const int row = 32 * own[s] + i / 32 % 32, column = i / 1024 * 32 + i % 32;
            if (row < n && column <= row) a[(size_t)row * n + column] = tile_of(tiles, own[s], i / 1024)[i / 32 % 32][i % 32];
        }
    }
    if (rank == 0 && threadIdx.x == 0) {
        int first_bad = 0;
        for (int r = 0; r < CLUSTER; r++) {
            const int found = *in_block(bad_pivot, r);
            if (found > 0 && (first_bad == 0 || found < first_bad)) first_bad = found;
        }
        *info = first_bad;
    }
    if (free) {
        // From the last strip up: w_i = L_ii^-T (m_i - sum over j > i of L_ji^T w_j). While strip i is solved, all blocks add up what their strips
        // after it take off strip i - 1; who has that gathers it from them, in order. Numbers of a strip stand [width, 32].
        const int size = width * ROW_APART;
        double *done[2] = {rest, rest + size}, *side = rest + 2 * size, *sums = rest + 3 * size; // two sums
        __syncthreads();
        if (warp < 2 && own[warp] < strips) invert_tile(tile_of(tiles, own[warp], own[warp]), own_inverses[warp]);
        for (int at = threadIdx.x; at < 2 * size; at += WARP * FACTOR_WARPS) sums[at] = 0;
        cluster_arrive();
        cluster_wait();
        for (int i = strips - 1; i >= 0; i--) {
            double *next = sums + (i + 1) % 2 * size;
            // What own strips after i take off. A number is always added to by the same thread.
            bool any = false;
            for (int s = 1; s >= 0; s--) {
                if (i == 0 || own[s] <= i || own[s] >= strips) continue;
                transposed_times(next, tile_of(tiles, own[s], i - 1), done[s], width, any);
                any = true;
            }
            if (owner_of(i) == rank) {
                const int s = i >= CLUSTER;
                for (int at = threadIdx.x; at < 32 * width; at += WARP * FACTOR_WARPS) {
                    const int row = 32 * i + at % 32, place = at / 32 * ROW_APART + at % 32;
                    double v = row < n ? free[(size_t)row * width + at / 32] : 0;
#pragma unroll
                    for (int r = 0; r < CLUSTER; r++) v -= in_block(sums, r)[i % 2 * size + place];
                    side[place] = v;
                }
                __syncthreads();
                transposed_times(done[s], tile_of(tiles, i, i), side, width, false);
                __syncthreads();
                for (int at = threadIdx.x; at < 32 * width; at += WARP * FACTOR_WARPS) {
                    const int row = 32 * i + at / width, p = at % width;
                    if (row < n) weights[(size_t)row * width + p] = done[s][p * ROW_APART + at / width];
                }
                if (i > 0) transposed_times(next, tile_of(tiles, i, i - 1), done[s], width, any);
            }
            cluster_arrive();
            cluster_wait();
        }
    }
    // Nobody leaves while others read what it has.
    cluster_arrive();
    cluster_wait();
}
#endif
