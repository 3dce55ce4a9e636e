// The stationary kernels: g(r2), its slope in r2, and its slope in the shape where there is one.

// exp(x) for x <= 0, and 0 below 1e-18, as on the CPU.
template <class T> __device__ T exp_decay(T x) { return x < T(SMALLEST_EXPONENT) ? T(0) : exp(x); }

template <class T> struct SquaredExponential {
    static __device__ T value(T r2, T) { return exp_decay(T(-0.5) * r2); }
    static __device__ T slope(T, T g, T) { return T(-0.5) * g; }
    static __device__ T shape_slope(T, T, T) { return 0; }
};

template <class T> struct Matern12 {
    static __device__ T value(T r2, T) { return exp_decay(-sqrt(r2)); }
    static __device__ T slope(T r2, T g, T) { return r2 > 0 ? T(-0.5) * g / sqrt(r2) : T(0); }
    static __device__ T shape_slope(T, T, T) { return 0; }
};

template <class T> struct Matern32 {
    static __device__ T value(T r2, T) {
        const T s = sqrt(3 * r2);
        return (1 + s) * exp_decay(-s);
    }
    static __device__ T slope(T r2, T, T) { return T(-1.5) * exp_decay(-sqrt(3 * r2)); }
    static __device__ T shape_slope(T, T, T) { return 0; }
};

template <class T> struct Matern52 {
    static __device__ T value(T r2, T) {
        const T s = sqrt(5 * r2);
        return (1 + s + T(5.0 / 3.0) * r2) * exp_decay(-s);
    }
    static __device__ T slope(T r2, T, T) {
        const T s = sqrt(5 * r2);
        return T(-5.0 / 6.0) * (1 + s) * exp_decay(-s);
    }
    static __device__ T shape_slope(T, T, T) { return 0; }
};

template <class T> struct RationalQuadratic {
    static __device__ T value(T r2, T alpha) { return exp_decay(-alpha * log(1 + T(0.5) / alpha * r2)); }
    static __device__ T slope(T r2, T g, T alpha) { return T(-0.5) * g / (1 + T(0.5) / alpha * r2); }
    static __device__ T shape_slope(T r2, T g, T alpha) {
        const T b = 1 + T(0.5) / alpha * r2;
        return g * (1 - 1 / b - log(b));
    }
};
