// A device on the host, for tests: the threads of a block, or of a cluster of blocks, are fibers that run one at a time until they wait for one
// another, and who runs next is drawn at random, so that what only a lucky order makes right goes wrong here.
#define _XOPEN_SOURCE 700
#include <ucontext.h>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>
using std::isfinite;

// CUDA's words.
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __align__(...)
#define __restrict__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __CUDA_ARCH__ 900
struct Place {
    unsigned x, y;
};
template <class T, class U> static int min(T a, U b) { return (int)a < (int)b ? (int)a : (int)b; }
template <class T, class U> static int max(T a, U b) { return (int)a > (int)b ? (int)a : (int)b; }
template <class T> static T __ldcg(const T *at) { return *at; }
template <class T> static void __stcg(T *at, T v) { *at = v; }
static double inverse_root(double v) { return 1 / std::sqrt(v); }
template <class T> static T atomicAdd(T *to, T v) { return (*to += v) - v; }
static void __threadfence() {}

// Who is on the way, and what it waits for.
struct Fiber {
    ucontext_t context;
    int block, thread;
    bool done;
    unsigned phase;
    std::function<bool()> ready;
};
static std::vector<Fiber> fibers;
static Fiber *running;
static ucontext_t scheduler;
static Place first_block, blockDim, gridDim;
static int blocks_at_once;
static std::vector<std::vector<double>> shared_memory;
static std::function<void()> kernel;
#define threadIdx (Place{(unsigned)running->thread, 0})
#define blockIdx (Place{first_block.x + running->block, first_block.y})

static unsigned draw() {
    static unsigned long long state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return state >> 33;
}

static void wait_for(std::function<bool()> ready) {
    Fiber *own = running;
    own->ready = ready;
    swapcontext(&own->context, &scheduler);
}

// A place where so many threads meet, again and again.
struct Meeting {
    int there = 0;
    unsigned phase = 0;
    unsigned arrive(int all) {
        const unsigned before = phase;
        if (++there == all) there = 0, phase++;
        return before;
    }
    void wait(unsigned before) {
        wait_for([this, before] { return phase != before; });
    }
};
static std::vector<Meeting> of_block;
static std::vector<std::array<Meeting, 16>> of_warps;
static Meeting of_cluster;
static void __syncthreads() {
    Meeting &own = of_block[running->block];
    own.wait(own.arrive(blockDim.x));
}
static void meet(int place, int threads) {
    Meeting &own = of_warps[running->block][place];
    own.wait(own.arrive(threads));
}
static void pass(int place, int threads) { of_warps[running->block][place].arrive(threads); }
static void cluster_arrive() { running->phase = of_cluster.arrive(blocks_at_once * blockDim.x); }
static void cluster_wait() { of_cluster.wait(running->phase); }
static double *own_shared() { return shared_memory[running->block].data(); }
template <class T> static T *in_block(T *own, int rank) {
    const ptrdiff_t at = (char *)own - (char *)own_shared();
    if (at < 0 || at >= (ptrdiff_t)(shared_memory[rank].size() * sizeof(double))) abort();
    return (T *)((char *)shared_memory[rank].data() + at);
}

// What the lanes of a warp show one another: all put something down before one looks, and all have looked before one puts down again.
struct Warp {
    double shown[32][6];
    Meeting put, looked;
};
static std::vector<Warp> warps;
template <class Look> static auto among_lanes(const double *own, int n, Look look) {
    Warp &warp = warps[(running->block * blockDim.x + running->thread) / 32];
    memcpy(warp.shown[running->thread % 32], own, n * sizeof(double));
    warp.put.wait(warp.put.arrive(32));
    const auto seen = look(warp);
    warp.looked.wait(warp.looked.arrive(32));
    return seen;
}
static double __shfl_sync(unsigned, double v, int lane) {
    return among_lanes(&v, 1, [=](Warp &warp) { return warp.shown[lane][0]; });
}
template <class T> static T __shfl_down_sync(unsigned, T v, int offset) {
    const double own = v;
    const int lane = running->thread % 32 + offset;
    return among_lanes(&own, 1, [=](Warp &warp) { return lane < 32 ? T(warp.shown[lane][0]) : v; });
}
static void __syncwarp() {
    const double nothing = 0;
    among_lanes(&nothing, 1, [](Warp &) { return 0; });
}
static void multiply_add(const double a[4], double b0, double b1, double d[4]) {
    const double own[6] = {a[0], a[1], a[2], a[3], b0, b1};
    const int lane = running->thread % 32;
    among_lanes(own, 6, [=](Warp &warp) {
        for (int e = 0; e < 4; e++) {
            const int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
            for (int k = 0; k < 8; k++)
                d[e] += warp.shown[row % 8 * 4 + k % 4][row / 8 + k / 4 * 2] * warp.shown[column * 4 + k % 4][4 + k / 4];
        }
        return 0;
    });
}

static void enter() {
    kernel();
    running->done = true;
    swapcontext(&running->context, &scheduler);
}

// Runs `blocks` blocks side by side, with so many numbers of shared memory each.
static void run_together(int blocks, size_t shared) {
    static std::vector<std::vector<char>> stacks;
    const int count = blocks * blockDim.x;
    blocks_at_once = blocks;
    shared_memory.assign(blocks, std::vector<double>(shared, NAN));
    of_block.assign(blocks, {}), of_warps.assign(blocks, {}), of_cluster = {};
    warps.assign((count + 31) / 32, {});
    fibers.resize(count);
    while ((int)stacks.size() < count) stacks.push_back(std::vector<char>(32 << 10));
    std::vector<int> order(count);
    for (int i = 0; i < count; i++) {
        Fiber &own = fibers[i];
        own.block = i / blockDim.x, own.thread = i % blockDim.x, own.done = false, own.ready = nullptr, order[i] = i;
        getcontext(&own.context);
        own.context.uc_stack.ss_sp = stacks[i].data();
        own.context.uc_stack.ss_size = stacks[i].size();
        own.context.uc_link = &scheduler;
        makecontext(&own.context, enter, 0);
    }
    for (int left = count; left > 0;) {
        bool moved = false;
        for (int i = count - 1; i > 0; i--) std::swap(order[i], order[draw() % (i + 1)]);
        for (int i : order) {
            Fiber &own = fibers[i];
            if (own.done || (own.ready && !own.ready())) continue;
            own.ready = nullptr, moved = true, running = &own;
            swapcontext(&scheduler, &own.context);
            left -= own.done;
        }
        if (!moved) {
            fprintf(stderr, "%d threads wait for ever\n", left);
            abort();
        }
    }
}

// A launch whose blocks know nothing of one another: one after the other.
static void launch(int x, int y, int threads, size_t shared, std::function<void()> of) {
    kernel = of, gridDim = {(unsigned)x, (unsigned)y}, blockDim = {(unsigned)threads, 1};
    for (int i = 0; i < x * y; i++) {
        first_block = {(unsigned)(i % x), (unsigned)(i / x)};
        run_together(1, shared);
    }
}

// A launch of one cluster.
static void launch_cluster(int blocks, int threads, size_t shared, std::function<void()> of) {
    kernel = of, gridDim = {(unsigned)blocks, 1}, blockDim = {(unsigned)threads, 1}, first_block = {0, 0};
    run_together(blocks, shared);
}

static void print(const double *numbers, int n) {
    for (int i = 0; i < n; i++) printf(" %.17g", numbers[i]);
}
