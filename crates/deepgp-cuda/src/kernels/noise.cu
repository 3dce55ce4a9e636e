// The noise of samples: counter-based, as on the CPU.

// Ten rounds of Philox-4x32, as on the CPU.
__device__ void philox(unsigned k0, unsigned k1, unsigned c[4]) {
    for (int round = 0; round < 10; round++) {
        const unsigned a_high = __umulhi(c[0], 0xD2511F53u), a_low = c[0] * 0xD2511F53u;
        const unsigned b_high = __umulhi(c[2], 0xCD9E8D57u), b_low = c[2] * 0xCD9E8D57u;
        const unsigned c0 = b_high ^ c[1] ^ k0, c2 = a_high ^ c[3] ^ k1;
        c[0] = c0, c[1] = b_low, c[2] = c2, c[3] = a_low;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
}

__device__ double open_unit(unsigned high, unsigned low) {
    const unsigned long long bits = ((unsigned long long)high << 32 | low) >> 11;
    return (bits + 0.5) * (1.0 / 9007199254740992.0);
}

// Output `p` of a row of normals; outputs share a counter in pairs.
__device__ double normal(unsigned k0, unsigned k1, unsigned row, unsigned step, unsigned sample, unsigned layer, int p) {
    unsigned c[4] = {row, step, sample, (layer << 16) + p / 2};
    philox(k0, k1, c);
    const double radius = sqrt(-2 * log(open_unit(c[0], c[1])));
    double sine, cosine;
    sincospi(2 * open_unit(c[2], c[3]), &sine, &cosine);
    return radius * (p % 2 ? sine : cosine);
}

// The noise of output p of `row`, one of `rows` that are `samples` for each of the batch: given, or drawn, a row of the batch's own if there are
// `ids`, else the same for all.
__device__ __forceinline__ double noise_of(const double *given, const unsigned *ids, unsigned k0, unsigned k1, unsigned layer,
                                           int rows, int samples, int row, int p, int outputs, const Step *steps,
                                           const Control *control) {
    if (given) return given[(size_t)row * outputs + p];
    const unsigned id = ids ? ids[(size_t)control->cursor * (rows / samples) + row / samples] : 0;
    return normal(k0, k1, id, ids ? steps[control->cursor].number : 0, row % samples, layer, p);
}
