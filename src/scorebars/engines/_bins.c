/*
 * Labels into narrow bins, for accumulators (`bins.py` says what for).
 *
 * Label i has the difference d = prediction - label, the error s, the weight w and c = label - shift. The bin of a
 * label is given by the leading bits of a number v > 0 as a double (its exponent and the first bits of its fraction);
 * the other bits of the fraction say where in the bin v lies, u from -1 to 1. For every column x of the labels
 *
 *     moments[bin][k][column] += x u^k,    k = 0 ... 3.
 *
 *   square_bins   v = w s^2, columns 1, w, w d^2, max(4 w d^2 - 2 v, 2 v), and if asked for w d, w c, w c d, w c^2;
 *                 with these four, `totals` takes the 15 sums w^2 m m', m = (1, d, c, d^2, c^2), over all labels
 *   folded_bins   v = w s, the bins split further by z = |d| / s; columns are the powers 0 ... 3 of the place of z in
 *                 its bin, from -1 to 1; the last of these bins holds all larger z, with place 0
 *
 * Labels with v above `threshold` are left out, and so are those for which there is no bin; their indices are written
 * down. Labels with v = 0 are exact: one more row of `moments`, after those of the bins, takes them, and of folded_bins
 * `totals` takes their sum w |d|. Values are finite, errors and weights not negative. The NumPy twin is in
 * bins.py.
 *
 * How it is made fast: the labels go through in blocks that stay in the first-level cache. A first loop, which the
 * compiler turns into vector instructions, finds bins, places and columns of all labels of a block; a second one adds
 * them to the bins, all columns of a label at a time. So no label waits for the arithmetic of the one before.
 */
#include "_extension.h"

#define LAYOUT 3 /* of the arguments: another number means another version of the Python side */
#define MOMENTS 4
#define MOST_COLUMNS 8
#define PRODUCTS 15
#define APART (-1) /* instead of the bin of a label that is left out */

typedef struct {
    const double *y, *p, *sigma, *weight; /* sigma NULL: all one_sigma; weight NULL: all 1 */
    double one_sigma;
    double shift, threshold, z_width;
    double *moments, *totals;
    int64_t *apart;
    Py_ssize_t count, n_apart;
    int64_t first, bins;         /* by v alone */
    int64_t z_bins;              /* 0: squares */
    int bits;                    /* of the fraction, below the bin */
    int columns;
} Task;

/* ------------------------------------------------------------------ one block of labels */

enum { BLOCK = 128 };

typedef struct {
    const double *y, *p, *sigma, *weight; /* of the block: the caller's arrays, or one number repeated */
    int count;
    ALIGNED double column[BLOCK * MOST_COLUMNS]; /* label by label */
    ALIGNED double place[BLOCK];                 /* u */
    ALIGNED int64_t bin[BLOCK];
    ALIGNED double one_sigma[BLOCK];
    ALIGNED double one[BLOCK];
} Block;

static void start_block(Block *block, const Task *task, Py_ssize_t start)
{
    const Py_ssize_t left = task->count - start;
    block->count = left < BLOCK ? (int)left : BLOCK;
    block->y = task->y + start;
    block->p = task->p + start;
    block->sigma = task->sigma != NULL ? task->sigma + start : block->one_sigma;
    block->weight = task->weight != NULL ? task->weight + start : block->one;
}

INLINE uint64_t bits_of(double v)
{
    uint64_t number;
    memcpy(&number, &v, sizeof number);
    return number;
}

/* Where in its bin v lies, from -1 to 1: the bits below the bin become the whole fraction of a number from 1 to 2. */
INLINE double place_in_bin(double v, const int bits)
{
    const uint64_t rest = bits_of(v) << (52 - bits) & UINT64_C(0x000FFFFFFFFFFFFF);
    const uint64_t number = rest | UINT64_C(0x3FF0000000000000);
    double one_to_two;
    memcpy(&one_to_two, &number, sizeof one_to_two);
    return 2.0 * one_to_two - 3.0;
}

/* The bin of a label by v, which is then split in `split` ones, of which the label is in number `minor`. */
INLINE int64_t bin_of(double v, const Task *task, int64_t split, int64_t minor)
{
    const int64_t major = (int64_t)(bits_of(v) >> task->bits) - task->first;
    const int outside = (major | (task->bins - 1 - major)) < 0 || v > task->threshold;
    const int64_t in_reach = outside ? APART : major * split + minor;
    return v == 0.0 ? task->bins * split : in_reach;
}

/* The four columns of the squares. */
INLINE void set_squares(double *column, double v, double w, double d)
{
    const double wdd = w * (d * d), more = 4.0 * wdd - 2.0 * v;
    column[0] = 1.0;
    column[1] = w;
    column[2] = wdd;
    column[3] = more > 2.0 * v ? more : 2.0 * v;
}

/* With 8 columns also the other four. */
INLINE void place_by_variance(Block *restrict block, const Task *restrict task, const int columns)
{
    const double *restrict y = block->y, *restrict p = block->p;
    const double *restrict sigma = block->sigma, *restrict weight = block->weight;
    const Task fixed = *task;
    const int count = block->count;
#pragma omp simd
    for (int i = 0; i < count; i++) {
        const double s = sigma[i], w = weight[i], d = p[i] - y[i], c = y[i] - fixed.shift, v = w * (s * s);
        double *column = block->column + columns * i;
        set_squares(column, v, w, d);
        if (columns == 8) {
            column[4] = w * d;
            column[5] = w * c;
            column[6] = w * c * d;
            column[7] = w * c * c;
        }
        block->place[i] = place_in_bin(v, fixed.bits);
        block->bin[i] = bin_of(v, &fixed, 1, 0);
    }
}

FOR_EACH_CPU
static void place_squares(Block *restrict block, const Task *restrict task)
{
    place_by_variance(block, task, 4);
}

FOR_EACH_CPU
static void place_ratio(Block *restrict block, const Task *restrict task)
{
    place_by_variance(block, task, 8);
}

/* As place_squares, for folded bins; `exact` takes w |d| of the labels with v = 0. */
FOR_EACH_CPU
static void place_folded(Block *restrict block, const Task *restrict task, double *restrict exact)
{
    const double *restrict y = block->y, *restrict p = block->p;
    const double *restrict sigma = block->sigma, *restrict weight = block->weight;
    const Task fixed = *task;
    const double per_z = 1.0 / fixed.z_width, beyond = (double)fixed.z_bins;
    const int last = (int)fixed.z_bins, count = block->count;
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < count; i++) {
        const double s = sigma[i], w = weight[i], d = fabs(p[i] - y[i]), v = w * s;
        const double z = d / fabs(s) * per_z; /* of bad errors, too, no bin below the first */
        const double in_reach = z < beyond ? z : beyond; /* also where s = 0 */
        const int minor = (int)in_reach;
        const double t = (in_reach - (double)minor) * 2.0 - 1.0 + (double)(minor == last); /* 0 in the last */
        double *column = block->column + 4 * i;
        column[0] = 1.0;
        column[1] = t;
        column[2] = t * t;
        column[3] = t * t * t;
        block->place[i] = place_in_bin(v, fixed.bits);
        block->bin[i] = bin_of(v, &fixed, fixed.z_bins + 1, minor);
        const double certain = v == 0.0 ? d : 0.0;
        sum += w * certain;
    }
    *exact += sum;
}

INLINE void add_columns(const Block *restrict block, Task *restrict task, const int columns)
{
    const Py_ssize_t start = block->y - task->y;
    double *restrict moments = task->moments;
    for (int i = 0; i < block->count; i++) {
        const int64_t bin = block->bin[i];
        if (bin == APART) {
            task->apart[task->n_apart++] = start + i;
            continue;
        }
        const double *restrict column = block->column + i * columns;
        const double u = block->place[i];
        double *restrict sums = moments + bin * (MOMENTS * columns);
#pragma omp simd
        for (int c = 0; c < columns; c++) { /* one vector of all columns */
            const double x = column[c], xu = x * u, xuu = xu * u;
            sums[c] += x;
            sums[columns + c] += xu;
            sums[2 * columns + c] += xuu;
            sums[3 * columns + c] += xuu * u;
        }
    }
}

FOR_EACH_CPU
static void add_to_bins(const Block *restrict block, Task *restrict task)
{
    if (task->columns == 4) /* fixed numbers let the compiler unroll the sums */
        add_columns(block, task, 4);
    else
        add_columns(block, task, 8);
}

/* Sums of w^2 times products of two of 1, d, c, d^2, c^2: in the order of the upper triangle. */
FOR_EACH_CPU
static void add_products(const Block *restrict block, const Task *restrict task, double *restrict totals)
{
    const double *restrict y = block->y, *restrict p = block->p, *restrict weight = block->weight;
    const double shift = task->shift;
    const int count = block->count;
    double one_one = 0, one_d = 0, one_c = 0, one_dd = 0, one_cc = 0, d_d = 0, d_c = 0, d_dd = 0, d_cc = 0;
    double c_c = 0, c_dd = 0, c_cc = 0, dd_dd = 0, dd_cc = 0, cc_cc = 0;
#pragma omp simd reduction(+ : one_one, one_d, one_c, one_dd, one_cc, d_d, d_c, d_dd, d_cc) \
    reduction(+ : c_c, c_dd, c_cc, dd_dd, dd_cc, cc_cc)
    for (int i = 0; i < count; i++) {
        const double one = weight[i], difference = p[i] - y[i], label = y[i] - shift;
        const double d = one * difference, c = one * label, dd = d * difference, cc = c * label; /* all times w */
        one_one += one * one, one_d += one * d, one_c += one * c, one_dd += one * dd, one_cc += one * cc;
        d_d += d * d, d_c += d * c, d_dd += d * dd, d_cc += d * cc;
        c_c += c * c, c_dd += c * dd, c_cc += c * cc;
        dd_dd += dd * dd, dd_cc += dd * cc;
        cc_cc += cc * cc;
    }
    const double products[PRODUCTS] = {one_one, one_d, one_c, one_dd, one_cc, d_d,   d_c,  d_dd,
                                       d_cc,    c_c,   c_dd,  c_cc,   dd_dd,  dd_cc, cc_cc};
    for (int k = 0; k < PRODUCTS; k++)
        totals[k] += products[k];
}

/* ------------------------------------------------------------------ all labels */

static void add_up(Task *task, Block *block)
{
    for (int i = 0; i < BLOCK; i++) {
        block->one_sigma[i] = task->one_sigma;
        block->one[i] = 1.0;
    }
    for (Py_ssize_t start = 0; start < task->count; start += BLOCK) {
        start_block(block, task, start);
        if (task->z_bins > 0) {
            place_folded(block, task, task->totals);
        } else if (task->columns == 4) {
            place_squares(block, task);
        } else {
            place_ratio(block, task);
            add_products(block, task, task->totals);
        }
        add_to_bins(block, task);
    }
}

/* ------------------------------------------------------------------ Python */

/* More bins than these are asked for by mistake, and their number times the size of one would leave the integers. */
#define MOST_BINS (1LL << 32)
#define MOST_Z_BINS (1LL << 16)

static PyObject *run(PyObject *args, int folded)
{
    PyObject *y, *p, *sigma, *weight, *moments, *totals, *apart;
    long long columns, z_bins, bits, first, bins;
    Task task;
    memset(&task, 0, sizeof task);
    if (!PyArg_ParseTuple(args, "OOOOdLLdLLdLOOO", &y, &p, &sigma, &weight, &task.shift, &columns, &z_bins,
                          &task.z_width, &bits, &first, &task.threshold, &bins, &moments, &totals, &apart))
        return NULL;
    const int shape = folded ? z_bins >= 1 && z_bins <= MOST_Z_BINS && columns == MOMENTS && task.z_width > 0
                             : z_bins == 0 && (columns == 4 || columns == 8);
    if (!shape || bits < 1 || bits > 52 || bins < 0 || bins > MOST_BINS || first < 0 || first > INT64_MAX >> bits) {
        PyErr_SetString(PyExc_ValueError, "columns, z_bins, z_width, bits, first or bins is out of range");
        return NULL;
    }
    Py_buffer views[7];
    int held = 0, done = 0;
    Block block;
    if (take_buffer(y, &views[0], &held, 0, 'd', -1, "y") == 0) {
        const Py_ssize_t n = views[0].len / 8, rows = (Py_ssize_t)(bins * (z_bins + 1) + 1);
        const int each = !PyFloat_Check(sigma), weighted = weight != Py_None;
        if (take_buffer(p, &views[1], &held, 0, 'd', n, "prediction") == 0 &&
            take_buffer(moments, &views[2], &held, 1, 'd', rows * (Py_ssize_t)columns * MOMENTS, "moments") == 0 &&
            take_buffer(totals, &views[3], &held, 1, 'd', folded ? 1 : columns > 4 ? PRODUCTS : 0, "totals") == 0 &&
            take_buffer(apart, &views[4], &held, 1, 'q', n, "apart") == 0 &&
            (!each || take_buffer(sigma, &views[held], &held, 0, 'd', n, "sigma") == 0) &&
            (!weighted || take_buffer(weight, &views[held], &held, 0, 'd', n, "weight") == 0)) {
            task.y = views[0].buf;
            task.p = views[1].buf;
            task.moments = views[2].buf;
            task.totals = views[3].buf;
            task.apart = views[4].buf;
            task.sigma = each ? views[5].buf : NULL;
            task.one_sigma = each ? 0.0 : PyFloat_AsDouble(sigma);
            task.weight = weighted ? views[each ? 6 : 5].buf : NULL;
            task.count = n;
            task.columns = (int)columns;
            task.z_bins = z_bins;
            task.bits = (int)bits;
            task.first = first;
            task.bins = bins;
            Py_BEGIN_ALLOW_THREADS
            add_up(&task, &block);
            Py_END_ALLOW_THREADS
            done = 1;
        }
    }
    while (held > 0)
        PyBuffer_Release(&views[--held]);
    return done ? PyLong_FromSsize_t(task.n_apart) : NULL;
}

static PyObject *square_bins(PyObject *module, PyObject *args)
{
    (void)module;
    return run(args, 0);
}

static PyObject *folded_bins(PyObject *module, PyObject *args)
{
    (void)module;
    return run(args, 1);
}

#define ARGUMENTS                                                                                                     \
    "(y, prediction, sigma, weight, shift, columns, z_bins, z_width, bits, first, threshold, bins, moments, totals, "  \
    "apart)\n\nAdd labels to `moments` (bins (z_bins + 1) + 1, MOMENTS, columns), the last row for exact ones, and\n"  \
    "to `totals`; write the indices of those above the threshold or without a bin to `apart` (int64) and return\n"    \
    "their number. Arrays are contiguous float64; sigma may be a float, weight None. Other threads run meanwhile."

static int add_constants(PyObject *module)
{
    return PyModule_AddIntConstant(module, "LAYOUT", LAYOUT);
}

static PyMethodDef methods[] = {
    {"square_bins", square_bins, METH_VARARGS, "square_bins" ARGUMENTS},
    {"folded_bins", folded_bins, METH_VARARGS, "folded_bins" ARGUMENTS},
    {NULL, NULL, 0, NULL},
};

EXTENSION_MODULE(_bins, "Labels into narrow bins, compiled.", add_constants, methods);
