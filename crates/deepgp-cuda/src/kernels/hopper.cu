// What only Hopper GPUs and later ones have: clusters of blocks, and fast matrix units for doubles. The only text with instructions in it.

#if __CUDA_ARCH__ >= 900
// v^-1/2 for a positive, finite v that is not denormal, as the library's `rsqrt` has it, but without the branch for all others. It is volatile so that
// it is no branch's business either.
__device__ __forceinline__ double inverse_root(double v) {
    double y;
    asm volatile("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(v));
    const double e = fma(-v, y * y, 1.0);
    return fma(fma(e, 0.375, 0.5), y * e, y);
}

// All threads of a cluster meet: who has arrived may do something else before it waits for the others.
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }

// Some warps of a block, so many threads, meet at a place of their own, 1 to 15. Who only passes lets the others see what it did, and does not wait.
__device__ __forceinline__ void meet(int place, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(place), "r"(threads) : "memory");
}
__device__ __forceinline__ void pass(int place, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(place), "r"(threads) : "memory");
}

// The place in the shared memory of block `rank` of the cluster that `own` is in the caller's.
template <class T> __device__ __forceinline__ T *in_block(T *own, int rank) {
    T *there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(rank));
    return there;
}

// d += a b for a of 16 x 8 and b of 8 x 8 numbers, on the matrix units. With g = lane / 4 and t = lane % 4, a lane holds of a
// (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4); of b (t, g), (t + 4, g); of d (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
__device__ __forceinline__ void multiply_add(const double a[4], double b0, double b1, double d[4]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
}
#endif
