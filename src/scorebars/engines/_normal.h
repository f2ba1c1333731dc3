/*
 * Functions of the normal distribution that a compiler can put into vector lanes.
 */
#ifndef SCOREBARS_NORMAL_H
#define SCOREBARS_NORMAL_H

/* Beyond 8.3 sigmas g is below 1.4e-17, and beyond 26 Q is below 1e-148: there they count as zero. The
 * numbers are read from memory because compilers that know them turn the cut into branches. */
static volatile const double FOLD_END = 8.3;
static volatile const double TAIL_END = 26.0;

/* Added to sigma before a division: stands in for sigma = 0, and is lost in any other sigma. */
#define SMALLEST_NORMAL 2.2250738585072014e-308

/* Coefficients from tools/make_kernel_coefficients.py. 2^f for |f| <= 1/2 and the fourth root of g(z)
 * are polynomials. Q(z) exp(z^2/2) is rational, with positive coefficients: no evaluation cancels. */
static const double EXP2[12] = {
    0x1.0000000000000p+0, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c5aep-3, 0x1.c6b08d704a0c6p-5,
    0x1.3b2ab6fb9f1a5p-7, 0x1.5d87fe78a3f9cp-10, 0x1.430913112c61bp-13, 0x1.ffcbfc6da6ed1p-17,
    0x1.62bfc2c86d700p-20, 0x1.b524ebd13a55fp-24, 0x1.e6228acd1c6e5p-28, 0x1.e9ec1fcb69a7fp-32,
};
static const double FOLD_ROOT[23] = {
    0x1.e3e6373ed955dp-1, -0x1.2f3d28da9877ap-2, -0x1.58b979d11c1b6p-6, 0x1.3094b951ac9c8p-7,
    0x1.14762d93460dap-9, -0x1.65b0292da88ddp-12, -0x1.e37a8c56a2677p-14, 0x1.c4bfe917ea0e5p-17,
    0x1.2957770a8c595p-18, -0x1.50a3f7d3d35c2p-21, -0x1.bedc40319d156p-24, 0x1.a2e190e619384p-26,
    0x1.9edc47271c427p-30, -0x1.cd8cc0f421f87p-30, 0x1.3b72227025a86p-31, -0x1.3512bd6adb6c1p-33,
    0x1.b61362c410f18p-36, -0x1.ba44317dc3f96p-39, 0x1.3b0a5c58966f0p-42, -0x1.35ed1c3d78423p-46,
    0x1.903612e23585ap-51, -0x1.2f3fc5be94630p-56, 0x1.9259e0b682191p-63,
};
static const double TAIL_TOP[9] = {
    0x1.0000000000000p-1, 0x1.61dabf30480e3p-1, 0x1.e49ef02714d96p-2, 0x1.a0b06cda02a5bp-3,
    0x1.e63b4d4e91f3fp-5, 0x1.887230392b30ap-7, 0x1.ac1cfe8c7595fp-10, 0x1.22094a4dd98dap-13,
    0x1.79f8f94647e68p-18,
};
static const double TAIL_BOTTOM[10] = {
    0x1.0000000000000p+0, 0x1.170e746774e0dp+1, 0x1.17cf5fe474c4dp+1, 0x1.53b6d76b57863p+0,
    0x1.14232f1410e48p-1, 0x1.3906baf86e0ffp-3, 0x1.f189bb4824f86p-6, 0x1.0d3496d5fda8ap-8,
    0x1.6b81af7a172bap-12, 0x1.d9b7e5704e0d2p-17,
};

/* 2^t for -1022 < t <= 0: 2^k 2^f with k the nearest whole number. */
INLINE double power_of_two(double t)
{
    const double round_to_integer = 6755399441055744.0; /* 1.5 * 2^52: the sum's low bits hold k */
    const double k = t + round_to_integer;
    const double f = t - (k - round_to_integer);
    const double f2 = f * f, f4 = f2 * f2;
    const double low = (EXP2[3] * f + EXP2[2]) * f2 + (EXP2[1] * f + EXP2[0]);
    const double middle = (EXP2[7] * f + EXP2[6]) * f2 + (EXP2[5] * f + EXP2[4]);
    const double high = (EXP2[11] * f + EXP2[10]) * f2 + (EXP2[9] * f + EXP2[8]);
    double power = (high * f4 + middle) * f4 + low;
    uint64_t k_bits, power_bits;
    memcpy(&k_bits, &k, sizeof k);
    memcpy(&power_bits, &power, sizeof power);
    power_bits += k_bits << 52; /* add k to the exponent */
    memcpy(&power, &power_bits, sizeof power);
    return power;
}

/* exp(-z^2/2) for 0 <= z <= TAIL_END */
INLINE double gauss(double z)
{
    return power_of_two(z * z * -0.72134752044448170368); /* -1/(2 ln 2) */
}

/* g(z) = E|Z + z| - |z| for 0 <= z < FOLD_END, to 6e-16: it adds to |z|, so the absolute error counts. No
 * exponential and no second division, and groups of four terms that do not wait for each other. */
INLINE double fold(double z)
{
    const double *c = FOLD_ROOT;
    const double z2 = z * z, z4 = z2 * z2;
    double root = (c[21] * z + c[20]) + c[22] * z2;
    root = root * z4 + ((c[17] * z + c[16]) + (c[19] * z + c[18]) * z2);
    root = root * z4 + ((c[13] * z + c[12]) + (c[15] * z + c[14]) * z2);
    root = root * z4 + ((c[9] * z + c[8]) + (c[11] * z + c[10]) * z2);
    root = root * z4 + ((c[5] * z + c[4]) + (c[7] * z + c[6]) * z2);
    root = root * z4 + ((c[1] * z + c[0]) + (c[3] * z + c[2]) * z2);
    const double square = root * root;
    return square * square;
}

/* Q(z) = P(Z > z) for 0 <= z <= TAIL_END */
INLINE double tail(double z)
{
    const double *a = TAIL_TOP, *b = TAIL_BOTTOM;
    double top = a[8], bottom = b[9];
    top = top * z + a[7], top = top * z + a[6], top = top * z + a[5], top = top * z + a[4];
    top = top * z + a[3], top = top * z + a[2], top = top * z + a[1], top = top * z + a[0];
    bottom = bottom * z + b[8], bottom = bottom * z + b[7], bottom = bottom * z + b[6], bottom = bottom * z + b[5];
    bottom = bottom * z + b[4], bottom = bottom * z + b[3], bottom = bottom * z + b[2], bottom = bottom * z + b[1];
    bottom = bottom * z + b[0];
    return gauss(z) * top / bottom;
}

#endif
