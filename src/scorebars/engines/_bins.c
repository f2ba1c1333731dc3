/*
 * Labels into narrow bins, for accumulators (`bins.py` and `summary.py` say what for).
 *
 * Label i has the difference d = prediction - label, the error s, the weight w and c = label - shift. The bin of a
 * label is given by the leading bits of a number v > 0 as a double (its exponent and the first bits of its fraction);
 * the other bits of the fraction say where in the bin v lies, u from -1 to 1. For every column x of the labels
 *
 *     moments[bin][column][k] += x u^k,    k = 0 ... 3.
 *
 *   square_bins   v = w s^2, columns 1, w, w d^2, max(4 w d^2 - 2 v, 2 v), and if asked for w d, w c, w c d, w c^2
 *                 with these four more, the 15 sums w^2 m m', m = (1, d, c, d^2, c^2), over all labels follow in `certain`
 *   folded_bins   v = w s, the bins split further by z = |d| / s; columns are the powers 0 ... 3 of the place of z in
 *                 its bin, from -1 to 1; the last bin holds all larger z, with place 0
 *
 * Labels with v above `threshold` are left out; their indices are written down. Labels with v = 0 are exact: their
 * columns (for folded_bins: w |d|) are added up in `certain`. Values are finite and errors not negative. The NumPy
 * twin is in bins.py and summary.py.
 */
#if !defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED)
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

#define MOMENTS 4
#define MOST_COLUMNS 8
#define PRODUCTS 15

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_CPU
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

typedef struct {
    const double *y, *p, *sigma, *weight; /* weight NULL: all 1 */
    double one_sigma;                     /* where sigma is NULL */
    double shift, threshold, z_width;
    double *moments, *certain;
    int64_t *apart;
    Py_ssize_t count, n_apart;
    int64_t first, bins, z_bins;
    int bits; /* of the fraction, below the bin */
    int columns;
} Task;

typedef struct {
    int64_t major;
    double power[MOMENTS];
} Place;

INLINE void powers_of(double u, double *power)
{
    power[0] = 1.0;
    power[1] = u;
    power[2] = u * u;
    power[3] = power[2] * u;
}

INLINE Place place_of(double v, const int bits)
{
    uint64_t number;
    memcpy(&number, &v, sizeof number);
    Place place = {.major = (int64_t)(number >> bits)};
    const double rest = (double)(int64_t)(number & ((UINT64_C(1) << bits) - 1));
    powers_of(rest * (2.0 / (double)(INT64_C(1) << bits)) - 1.0, place.power);
    return place;
}

INLINE void add_columns(double *restrict sums, const double *x, const double *power, const int columns)
{
    for (int c = 0; c < columns; c++)
        for (int k = 0; k < MOMENTS; k++)
            sums[c * MOMENTS + k] += x[c] * power[k];
}

INLINE int add_squares(Task *task, const int columns, const int weighted)
{
    double products[PRODUCTS] = {0.0};
    for (Py_ssize_t i = 0; i < task->count; i++) {
        const double s = task->sigma != NULL ? task->sigma[i] : task->one_sigma;
        const double w = weighted ? task->weight[i] : 1.0;
        const double d = task->p[i] - task->y[i], c = task->y[i] - task->shift;
        const double v = w * (s * s), wdd = w * (d * d), more = 4.0 * wdd - 2.0 * v;
        const double x[MOST_COLUMNS] = {
            1.0, w, wdd, more > 2.0 * v ? more : 2.0 * v, w * d, w * c, w * c * d, w * c * c};
        if (columns > 4) {
            const double m[5] = {w, w * d, w * c, w * (d * d), w * (c * c)};
            for (int j = 0, at = 0; j < 5; j++)
                for (int k = j; k < 5; k++, at++)
                    products[at] += m[j] * m[k];
        }
        if (v > task->threshold) {
            task->apart[task->n_apart++] = i;
            continue;
        }
        if (v == 0.0) {
            for (int k = 0; k < columns; k++)
                task->certain[k] += x[k];
            continue;
        }
        const Place place = place_of(v, task->bits);
        const int64_t bin = place.major - task->first;
        if (bin < 0 || bin >= task->bins)
            return -1;
        add_columns(task->moments + bin * columns * MOMENTS, x, place.power, columns);
    }
    for (int k = 0; columns > 4 && k < PRODUCTS; k++)
        task->certain[columns + k] += products[k];
    return 0;
}

INLINE int add_folded(Task *task, const int weighted)
{
    const double per_z = 1.0 / task->z_width;
    for (Py_ssize_t i = 0; i < task->count; i++) {
        const double s = task->sigma != NULL ? task->sigma[i] : task->one_sigma;
        const double w = weighted ? task->weight[i] : 1.0;
        const double d = fabs(task->p[i] - task->y[i]), v = w * s;
        if (v > task->threshold) {
            task->apart[task->n_apart++] = i;
            continue;
        }
        if (v == 0.0) {
            task->certain[0] += w * d;
            continue;
        }
        const double z = d / s * per_z;
        const int beyond = !(z < (double)task->z_bins);
        const int64_t minor = beyond ? task->z_bins : (int64_t)z;
        double x[MOMENTS];
        powers_of(beyond ? 0.0 : (z - (double)minor) * 2.0 - 1.0, x);
        const Place place = place_of(v, task->bits);
        const int64_t bin = (place.major - task->first) * (task->z_bins + 1) + minor;
        if (bin < 0 || bin >= task->bins)
            return -1;
        add_columns(task->moments + bin * MOMENTS * MOMENTS, x, place.power, MOMENTS);
    }
    return 0;
}

FOR_EACH_CPU static int add_up(Task *task)
{
    if (task->z_bins > 0)
        return task->weight != NULL ? add_folded(task, 1) : add_folded(task, 0);
    if (task->columns == 4) /* fixed numbers let the compiler unroll the sums */
        return task->weight != NULL ? add_squares(task, 4, 1) : add_squares(task, 4, 0);
    return task->weight != NULL ? add_squares(task, 8, 1) : add_squares(task, 8, 0);
}

/* ------------------------------------------------------------------ Python */

static int take(PyObject *object, Py_buffer *view, int *held, int writable, Py_ssize_t bytes, const char *name)
{
    if (PyObject_GetBuffer(object, view, writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) < 0)
        return -1;
    (*held)++;
    if (bytes >= 0 && view->len != bytes) {
        PyErr_Format(PyExc_ValueError, "%s holds %zd bytes, not %zd", name, view->len, bytes);
        return -1;
    }
    return 0;
}

static PyObject *run(PyObject *args, int folded)
{
    PyObject *y, *p, *sigma, *weight, *moments, *certain, *apart;
    long long columns, z_bins, bits, first, bins;
    Task task;
    memset(&task, 0, sizeof task);
    if (!PyArg_ParseTuple(args, "OOOOdLLdLLdLOOO", &y, &p, &sigma, &weight, &task.shift, &columns, &z_bins,
                          &task.z_width, &bits, &first, &task.threshold, &bins, &moments, &certain, &apart))
        return NULL;
    if ((folded ? z_bins < 1 || columns != MOMENTS : z_bins != 0 || (columns != 4 && columns != 8)) || bits < 1 ||
        bits > 52 || bins < 0) {
        PyErr_SetString(PyExc_ValueError, "columns, z_bins, bits or bins is out of range");
        return NULL;
    }
    Py_buffer views[7];
    int held = 0, failed = 1;
    const Py_ssize_t size = (Py_ssize_t)sizeof(double);
    if (take(y, &views[0], &held, 0, -1, "y") == 0) {
        const Py_ssize_t bytes = views[0].len;
        const int each = !PyFloat_Check(sigma), weighted = weight != Py_None;
        if (take(p, &views[1], &held, 0, bytes, "prediction") == 0 &&
            take(moments, &views[2], &held, 1, size * (Py_ssize_t)(bins * columns * MOMENTS), "moments") == 0 &&
            take(certain, &views[3], &held, 1, size * (Py_ssize_t)(columns > 4 ? columns + PRODUCTS : columns), "certain") == 0 &&
            take(apart, &views[4], &held, 1, bytes, "apart") == 0 &&
            (!each || take(sigma, &views[held], &held, 0, bytes, "sigma") == 0) &&
            (!weighted || take(weight, &views[held], &held, 0, bytes, "weight") == 0)) {
            task.y = views[0].buf;
            task.p = views[1].buf;
            task.moments = views[2].buf;
            task.certain = views[3].buf;
            task.apart = views[4].buf;
            task.sigma = each ? views[5].buf : NULL;
            task.one_sigma = each ? 0.0 : PyFloat_AsDouble(sigma);
            task.weight = weighted ? views[each ? 6 : 5].buf : NULL;
            task.count = bytes / size;
            task.columns = (int)columns;
            task.z_bins = z_bins;
            task.bits = (int)bits;
            task.first = first;
            task.bins = bins;
            Py_BEGIN_ALLOW_THREADS
            failed = add_up(&task);
            Py_END_ALLOW_THREADS
            if (failed)
                PyErr_SetString(PyExc_ValueError, "a label lies outside the bins");
        }
    }
    while (held > 0)
        PyBuffer_Release(&views[--held]);
    return failed ? NULL : PyLong_FromSsize_t(task.n_apart);
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
    "(y, prediction, sigma, weight, shift, columns, z_bins, z_width, bits, first, threshold, bins, moments, certain, " \
    "apart)\n\nAdd labels to `moments` (bins, columns, MOMENTS) and `certain`, write the indices of those\n" \
    "above the threshold to `apart` (int64) and return their number. Arrays are contiguous float64; sigma may be a\n"  \
    "float, weight None. Other threads run meanwhile."

static int add_constants(PyObject *module)
{
    return PyModule_AddIntConstant(module, "MOMENTS", MOMENTS);
}

static PyMethodDef methods[] = {
    {"square_bins", square_bins, METH_VARARGS, "square_bins" ARGUMENTS},
    {"folded_bins", folded_bins, METH_VARARGS, "folded_bins" ARGUMENTS},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)add_constants},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "scorebars.engines._bins",
    .m_doc = "Labels into narrow bins, compiled.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__bins(void)
{
    return PyModuleDef_Init(&definition);
}
