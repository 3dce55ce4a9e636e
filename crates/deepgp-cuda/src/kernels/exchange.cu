// What several processes add up before they exchange it, where one leaves it in blocks of rows.

// to[j] = sum over blocks of from[block, j], [blocks, n]. A block of threads for each j.
extern "C" __global__ void sum_blocks(const double *__restrict__ from, int blocks, int n, double *__restrict__ to) {
    __shared__ double sums[32];
    double sum = 0;
    for (int b = threadIdx.x; b < blocks; b += blockDim.x) sum += from[(size_t)b * n + blockIdx.x];
    sum = block_sum(sum, sums);
    if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

// How many variances of this process were at the floor.
extern "C" __global__ void count_clamped(const Control *control, double *to) { *to = control->clamped; }
