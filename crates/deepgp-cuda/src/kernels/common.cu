// What every program starts with. Before it stand, written by `source.rs`: REAL, the precision of rows (M x M work is double); DOUBLE,
// whether that is double; and the numbers that both sides share, which every file gets before its text from the Rust file of its name.
//
// Sums have a fixed order: threads of a block by a tree, blocks by number. No result depends on scheduling.

#define FULL 0xffffffffu

template <class T> __device__ __forceinline__ T warp_sum(T v) {
    for (int offset = WARP / 2; offset > 0; offset /= 2) v += __shfl_down_sync(FULL, v, offset);
    return v;
}

// The sum over a block, in its first thread. `shared` holds a number for each warp.
template <class T> __device__ T block_sum(T v, T *shared) {
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = (blockDim.x + WARP - 1) / WARP;
    v = warp_sum(v);
    __syncthreads();
    if (lane == 0) shared[warp] = v;
    __syncthreads();
    v = threadIdx.x < warps ? shared[threadIdx.x] : T(0);
    return warp == 0 ? warp_sum(v) : T(0);
}

// log sum exp of numbers that come one after the other.
struct LogSum {
    double largest = 0, sum = 0; // the sum is that of exp(value - largest)

    __device__ __forceinline__ void add(double value) {
        if (sum == 0 || value > largest) {
            sum = (sum == 0 ? 0 : sum * exp(largest - value)) + 1;
            largest = value;
        } else {
            sum += exp(value - largest);
        }
    }

    __device__ __forceinline__ double total() const { return largest + log(sum); }
};

// What the host says of one step.
struct Step {
    double rate;      // Adam's, corrected for its short memory
    double kl_weight; // kappa
    double scale;     // num_data / rows
    double faithfulness; // of the faithful objective
    unsigned number;  // for the noise
    unsigned live;    // rows that count; those after them fill up the batch
    unsigned long long offset; // the number of this process's first row among those of all, for the noise
};

// What goes on from step to step.
struct Control {
    unsigned cursor; // which plan is next
    int go;          // whether this step may update
    int halted;      // a step failed: nothing moves until the host has seen it
    int bad;         // the gradient has a number that is not finite
    int clamped;     // variances at the floor
    unsigned done;   // blocks of the update that have ended
};
