/*
 * The CRPS of forecasts at labels with normal errors: the score as observed, its mean and its variance if the
 * label were redrawn, label by label. The formulas are those of moments/forecast_moments.py and
 * moments/folded_pairs.py, which give the same numbers in NumPy. And normal probabilities of many numbers,
 * and of all pairs of labels.
 */
#include "_extension.h"
#include "_normal.h"

#include <stdlib.h>

#ifdef __FAST_MATH__
#error "the kernel relies on exact rounding: build it without -ffast-math"
#endif

enum { LAYOUT = 3 }; /* of the arguments */

#define INVERSE_ROOT_PI 0.56418958354775628695
#define INVERSE_ROOT_2_PI 0.39894228040143267794
#define LOG2_E 1.44269504088896340736

/* ------------------------------------------------------------------ normal forecasts */

/* One point of Gauss's rule on [0, 1] for the covariance of two folded normals. */
#define POINT(x, weight)                                                                           \
    {                                                                                              \
        const double t = (x) * end, both = 1 + t * t, up = 1 + t;                                  \
        const double power = power_of_two(-LOG2_E * square * both / (up * up));                    \
        total += (weight) * (r - 2 * t / both) / both * power;                                     \
    }

FOR_EACH_CPU
static void normal_block(Py_ssize_t n, const double *restrict y, const double *restrict mean,
                         const double *restrict std, const double *restrict sigma, double *restrict observed,
                         double *restrict expected, double *restrict variance)
{
    const double fold_end = FOLD_END, tail_end = TAIL_END;
#pragma omp simd
    for (Py_ssize_t i = 0; i < n; i++) {
        const double d = fabs(y[i] - mean[i]), s = std[i], e2 = sigma[i] * sigma[i], w = s * s + e2, root = sqrt(w);
        const double z0 = d / (s + SMALLEST_NORMAL), z1 = d / (root + SMALLEST_NORMAL);
        const double fold0 = z0 < fold_end ? s * fold(z0) : 0, fold1 = z1 < fold_end ? root * fold(z1) : 0;
        const double r = e2 / (w + SMALLEST_NORMAL);
        const double z = z1 < tail_end ? z1 : tail_end, square = z * z;
        const double end = r / (1 + sqrt((1 - r) * (1 + r)));
        double total = 0;
        POINT(0.013046735741414139961, 0.03333567215434406880)
        POINT(0.067468316655507744634, 0.07472567457529029657)
        POINT(0.160295215850487796882, 0.10954318125799102200)
        POINT(0.283302302935376404600, 0.13463335965499817755)
        POINT(0.425562830509184394558, 0.14776211235737643509)
        POINT(0.574437169490815605442, 0.14776211235737643509)
        POINT(0.716697697064623595399, 0.13463335965499817755)
        POINT(0.839704784149512203117, 0.10954318125799102200)
        POINT(0.932531683344492255366, 0.07472567457529029657)
        POINT(0.986953264258585860038, 0.03333567215434406880)
        const double sign = 1 - 2 * tail(z);
        observed[i] = d + fold0 - s * INVERSE_ROOT_PI;
        expected[i] = d + fold1 - s * INVERSE_ROOT_PI;
        variance[i] = w * (r * sign * sign + 1.27323954473516268615 * end * total); /* 4/pi */
    }
}

/* ------------------------------------------------------------------ probabilities */

/* P(Z <= x), to 4e-16 of the smaller tail down to 1e-148, and 0 below. */
FOR_EACH_CPU
static void below_block(Py_ssize_t n, const double *restrict x, double *restrict below)
{
    const double end = TAIL_END;
#pragma omp simd
    for (Py_ssize_t i = 0; i < n; i++) {
        const double far = fabs(x[i]), q = tail(far < end ? far : end), seen = far < end ? q : 0;
        below[i] = x[i] > 0 ? 1 - seen : seen;
    }
}

/* One label and those after it: sums of W E, W^2 - (W E)^2 and (W E)^2, as in laws/ranking/rank_moments.py. */
FOR_EACH_CPU
static void pair_row(Py_ssize_t n, int signs, const double *restrict y, const double *restrict variance,
                     const double *restrict rank, double *restrict sums)
{
    const double end = TAIL_END, y0 = y[0], variance0 = variance[0], rank0 = rank[0];
    double mean = 0, spread = 0, squares = 0;
#pragma omp simd reduction(+ : mean, spread, squares)
    for (Py_ssize_t j = 1; j < n; j++) {
        const double gap = y0 - y[j], z = fabs(gap) / sqrt(variance0 + variance[j]);
        const double apart = 1 - 2 * tail(z < end ? z : end), behind = rank0 - rank[j];
        const double sign = (double)(behind > 0) - (double)(behind < 0), w = signs ? sign : behind;
        const double expected = w * (gap < 0 ? -apart : apart), square = expected * expected;
        mean += expected;
        spread += w * w - square;
        squares += square;
    }
    sums[0] += mean;
    sums[1] += spread;
    sums[2] += squares;
}

/* Labels, sorted, and those k places further: sum of W times the chance that the two change their order. */
FOR_EACH_CPU
static double changed_order(Py_ssize_t n, Py_ssize_t k, int signs, const double *restrict y,
                            const double *restrict variance, const double *restrict rank)
{
    const double end = TAIL_END;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Py_ssize_t j = 0; j < n - k; j++) {
        const double z = (y[j + k] - y[j]) / (sqrt(variance[j] + variance[j + k]) + SMALLEST_NORMAL);
        const double ahead = rank[j + k] - rank[j], sign = (double)(ahead > 0) - (double)(ahead < 0);
        sum += (signs ? sign : ahead) * tail(z < end ? z : end);
    }
    return sum;
}

enum { CHANCES = 1024 }; /* labels at once */

/* P(label within the tolerance) of some labels, as in engines/store.py. */
FOR_EACH_CPU
static void chance_block(int n, const double *restrict y, const double *restrict p, const double *restrict sigma,
                         double tolerance, double *restrict chance)
{
    const double end = TAIL_END;
#pragma omp simd
    for (int i = 0; i < n; i++) {
        const double away = fabs(p[i] - y[i]), s = sigma[i], width = s > 1e-300 ? s : 1;
        const double near = fabs(tolerance - away) / width, far = (tolerance + away) / width;
        const double one = tail(near < end ? near : end), two = tail(far < end ? far : end);
        const double first = near < end ? one : 0, both = far < end ? two : 0;
        const int hit = away <= tolerance;
        const double crosses = s > 1e-300 ? (hit ? first + both : first - both) : 0;
        chance[i] = hit ? 1 - crosses : crosses;
    }
}

/* Sums of u^r, r < 4, of chances between 0 and 1 in bins, as in engines/class_counts.py; `ends` counts 0 and 1. */
static void add_chances(int n, const double *restrict chance, int half, double *restrict moments, double *restrict ends)
{
    for (int i = 0; i < n; i++) {
        const double q = chance[i];
        if (!(q > 0 && q < 1)) {
            ends[q >= 1] += 1;
            continue;
        }
        const int high = q > 0.5;
        double u = (high ? 1 - q : q) * (2 * half);
        int index = (int)u;
        index = index < half - 1 ? index : half - 1;
        u -= index;
        double *sums = moments + 4 * (index + (high ? half : 0));
        sums[0] += 1;
        sums[1] += u;
        sums[2] += u * u;
        sums[3] += u * u * u;
    }
}

/* ------------------------------------------------------------------ members */

/* x in increasing order: short runs by insertion, then merged by way of `other`. */
static void sort(double *x, double *other, Py_ssize_t m)
{
    enum { RUN = 8 };
    for (Py_ssize_t start = 0; start < m; start += RUN) {
        const Py_ssize_t stop = start + RUN < m ? start + RUN : m;
        for (Py_ssize_t i = start + 1; i < stop; i++) {
            const double value = x[i];
            Py_ssize_t j = i;
            for (; j > start && x[j - 1] > value; j--)
                x[j] = x[j - 1];
            x[j] = value;
        }
    }
    double *from = x, *to = other;
    for (Py_ssize_t size = RUN; size < m; size *= 2) {
        for (Py_ssize_t start = 0; start < m; start += 2 * size) {
            const Py_ssize_t middle = start + size < m ? start + size : m;
            const Py_ssize_t stop = start + 2 * size < m ? start + 2 * size : m;
            Py_ssize_t i = start, j = middle, k = start;
            while (i < middle && j < stop) {
                const int left = from[i] <= from[j];
                to[k++] = left ? from[i] : from[j];
                i += left, j += !left;
            }
            while (i < middle)
                to[k++] = from[i++];
            while (j < stop)
                to[k++] = from[j++];
        }
        double *swap = from;
        from = to, to = swap;
    }
    if (from != x)
        memcpy(x, from, (size_t)m * sizeof *x);
}

/* Distances of the members from the label in units of its error, and what they mean: see forecast_moments.py. */
FOR_EACH_CPU
static void excesses(Py_ssize_t m, const double *restrict x, double y, double width, double *restrict z,
                     double *restrict gain, double *restrict square, double *restrict above)
{
    const double end = TAIL_END;
#pragma omp simd
    for (Py_ssize_t k = 0; k < m; k++) {
        const double far = fabs(x[k] - y) / width, u = far < end ? far : end;
        const double q = tail(u), density = INVERSE_ROOT_2_PI * gauss(u);
        z[k] = u;
        gain[k] = 2 * (density - u * q);
        square[k] = q - u * (density - u * q);
        above[k] = q;
    }
}

static void member_row(Py_ssize_t m, const double *row, double y, double sigma, double pairs, double *work,
                       double *observed, double *expected, double *variance)
{
    double *x = work, *other = work + m, *z = work + 2 * m, *gain = work + 3 * m, *square = work + 4 * m,
           *q = work + 5 * m;
    double mean = 0, spread = 0, distance = 0;
    for (Py_ssize_t k = 0; k < m; k++)
        mean += row[k];
    mean /= (double)m;
    memcpy(x, row, (size_t)m * sizeof *x);
    sort(x, other, m);
    for (Py_ssize_t k = 0; k < m; k++) {
        spread += (double)(2 * k + 1 - m) * (x[k] - mean);
        distance += fabs(x[k] - y);
    }
    const double size = (double)m;
    *observed = *expected = distance / size - spread / pairs;
    *variance = 0;
    if (sigma == 0)
        return;
    excesses(m, x, y, sigma, z, gain, square, q);
    Py_ssize_t split = 0;
    while (split < m && x[split] < y)
        split++;
    double excess = 0, both = 0, signs = 0, inside = 0;
    for (Py_ssize_t k = split; k < m; k++) {
        const double nearer = (double)(k - split);
        both += (2 * nearer + 1) * square[k] + gain[k] * (nearer * z[k] - inside);
        inside += z[k], excess += gain[k], signs += q[k];
    }
    inside = 0;
    for (Py_ssize_t k = split - 1; k >= 0; k--) {
        const double nearer = (double)(split - 1 - k);
        both += (2 * nearer + 1) * square[k] + gain[k] * (nearer * z[k] - inside);
        inside += z[k], excess += gain[k], signs -= q[k];
    }
    excess *= 0.5;
    const double slope = (2 * (double)split - size) / size;
    const double found = slope * slope + 4 / (size * size) * (both - excess * excess) + 4 * slope / size * signs;
    *expected += 2 / size * sigma * excess;
    *variance = sigma * sigma * (found > 0 ? found : 0);
}

/* ------------------------------------------------------------------ Python's side */

static void release(Py_buffer *views, int held)
{
    while (held > 0)
        PyBuffer_Release(&views[--held]);
}

static PyObject *normal_crps(PyObject *module, PyObject *args)
{
    static const char *const names[] = {"y", "mean", "std", "sigma", "observed", "expected", "variance"};
    PyObject *columns[7];
    Py_buffer views[7];
    Py_ssize_t n;
    int held = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "nOOOOOOO", &n, &columns[0], &columns[1], &columns[2], &columns[3], &columns[4],
                          &columns[5], &columns[6]))
        return NULL;
    if (n < 0) {
        PyErr_SetString(PyExc_ValueError, "n is negative");
        return NULL;
    }
    for (int k = 0; k < 7; k++)
        if (take_buffer(columns[k], &views[k], &held, k > 3, 'd', n, names[k]) < 0) {
            release(views, held);
            return NULL;
        }
    Py_BEGIN_ALLOW_THREADS
    normal_block(n, views[0].buf, views[1].buf, views[2].buf, views[3].buf, views[4].buf, views[5].buf, views[6].buf);
    Py_END_ALLOW_THREADS
    release(views, held);
    Py_RETURN_NONE;
}

static PyObject *normal_below(PyObject *module, PyObject *args)
{
    PyObject *x, *below;
    Py_buffer views[2];
    Py_ssize_t n;
    int held = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "nOO", &n, &x, &below))
        return NULL;
    if (n < 0) {
        PyErr_SetString(PyExc_ValueError, "n is negative");
        return NULL;
    }
    if (take_buffer(x, &views[0], &held, 0, 'd', n, "x") < 0 ||
        take_buffer(below, &views[1], &held, 1, 'd', n, "below") < 0) {
        release(views, held);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    below_block(n, views[0].buf, views[1].buf);
    Py_END_ALLOW_THREADS
    release(views, held);
    Py_RETURN_NONE;
}

static PyObject *rank_pairs(PyObject *module, PyObject *args)
{
    static const char *const names[] = {"y", "variance", "rank", "sums"};
    PyObject *columns[4];
    Py_buffer views[4];
    Py_ssize_t n;
    int held = 0, signs;
    (void)module;
    if (!PyArg_ParseTuple(args, "npOOOO", &n, &signs, &columns[0], &columns[1], &columns[2], &columns[3]))
        return NULL;
    if (n < 0) {
        PyErr_SetString(PyExc_ValueError, "n is negative");
        return NULL;
    }
    for (int k = 0; k < 4; k++)
        if (take_buffer(columns[k], &views[k], &held, k == 3, 'd', k < 3 ? n : 3, names[k]) < 0) {
            release(views, held);
            return NULL;
        }
    const double *y = views[0].buf, *variance = views[1].buf, *rank = views[2].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i + 1 < n; i++)
        pair_row(n - i, signs, y + i, variance + i, rank + i, views[3].buf);
    Py_END_ALLOW_THREADS
    release(views, held);
    Py_RETURN_NONE;
}

static PyObject *shifted_pairs(PyObject *module, PyObject *args)
{
    static const char *const names[] = {"y", "variance", "rank"};
    PyObject *columns[3];
    Py_buffer views[3];
    Py_ssize_t n, k;
    int held = 0, signs;
    double sum;
    (void)module;
    if (!PyArg_ParseTuple(args, "nnpOOO", &n, &k, &signs, &columns[0], &columns[1], &columns[2]))
        return NULL;
    if (n < 0 || k < 0) {
        PyErr_SetString(PyExc_ValueError, "n or k is negative");
        return NULL;
    }
    for (int c = 0; c < 3; c++)
        if (take_buffer(columns[c], &views[c], &held, 0, 'd', n, names[c]) < 0) {
            release(views, held);
            return NULL;
        }
    Py_BEGIN_ALLOW_THREADS
    sum = changed_order(n, k, signs, views[0].buf, views[1].buf, views[2].buf);
    Py_END_ALLOW_THREADS
    release(views, held);
    return PyFloat_FromDouble(sum);
}

static PyObject *chance_bins(PyObject *module, PyObject *args)
{
    static const char *const names[] = {"y", "prediction", "sigma", "moments", "ends"};
    PyObject *columns[5];
    Py_buffer views[5];
    Py_ssize_t n;
    int held = 0, half;
    double tolerance, chance[CHANCES];
    (void)module;
    if (!PyArg_ParseTuple(args, "ndiOOOOO", &n, &tolerance, &half, &columns[0], &columns[1], &columns[2], &columns[3],
                          &columns[4]))
        return NULL;
    if (n < 0 || half < 1 || half > 1 << 20) {
        PyErr_SetString(PyExc_ValueError, "n or half is out of range");
        return NULL;
    }
    for (int k = 0; k < 5; k++)
        if (take_buffer(columns[k], &views[k], &held, k > 2, 'd', k < 3 ? n : k == 3 ? 8 * (Py_ssize_t)half : 2,
                        names[k]) < 0) {
            release(views, held);
            return NULL;
        }
    const double *y = views[0].buf, *p = views[1].buf, *sigma = views[2].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t start = 0; start < n; start += CHANCES) {
        const int count = n - start < CHANCES ? (int)(n - start) : CHANCES;
        chance_block(count, y + start, p + start, sigma + start, tolerance, chance);
        add_chances(count, chance, half, views[3].buf, views[4].buf);
    }
    Py_END_ALLOW_THREADS
    release(views, held);
    Py_RETURN_NONE;
}

static PyObject *member_crps(PyObject *module, PyObject *args)
{
    static const char *const names[] = {"members", "y", "sigma", "observed", "expected", "variance"};
    PyObject *columns[6];
    Py_buffer views[6];
    Py_ssize_t n, m;
    double pairs;
    int held = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "nndOOOOOO", &n, &m, &pairs, &columns[0], &columns[1], &columns[2], &columns[3],
                          &columns[4], &columns[5]))
        return NULL;
    if (n < 0 || m < 1 || m > PY_SSIZE_T_MAX / 64 || n > PY_SSIZE_T_MAX / 64 / m) {
        PyErr_SetString(PyExc_ValueError, "n or m is out of range");
        return NULL;
    }
    for (int k = 0; k < 6; k++)
        if (take_buffer(columns[k], &views[k], &held, k > 2, 'd', k ? n : n * m, names[k]) < 0) {
            release(views, held);
            return NULL;
        }
    double *work = malloc(6 * (size_t)m * sizeof *work);
    if (work == NULL) {
        release(views, held);
        return PyErr_NoMemory();
    }
    const double *rows = views[0].buf, *y = views[1].buf, *sigma = views[2].buf;
    double *observed = views[3].buf, *expected = views[4].buf, *variance = views[5].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n; i++)
        member_row(m, rows + i * m, y[i], sigma[i], pairs, work, &observed[i], &expected[i], &variance[i]);
    Py_END_ALLOW_THREADS
    free(work);
    release(views, held);
    Py_RETURN_NONE;
}

static int add_constants(PyObject *module)
{
    return PyModule_AddIntConstant(module, "LAYOUT", LAYOUT);
}

static PyMethodDef methods[] = {
    {"normal_crps", normal_crps, METH_VARARGS, "normal_crps(n, y, mean, std, sigma, observed, expected, variance)"},
    {"member_crps", member_crps, METH_VARARGS,
     "member_crps(n, m, pairs, members, y, sigma, observed, expected, variance)"},
    {"chance_bins", chance_bins, METH_VARARGS,
     "chance_bins(n, tolerance, half, y, prediction, sigma, moments, ends): moments (2 half, 4)"},
    {"normal_below", normal_below, METH_VARARGS, "normal_below(n, x, below)"},
    {"rank_pairs", rank_pairs, METH_VARARGS, "rank_pairs(n, signs, y, variance, rank, sums): sums (3)"},
    {"shifted_pairs", shifted_pairs, METH_VARARGS, "shifted_pairs(n, k, signs, y, variance, rank): y in rising order"},
    {NULL, NULL, 0, NULL},
};

EXTENSION_MODULE(_scores, "Scores of forecasts at labels with errors, compiled.", add_constants, methods);
