/*
 * One pass over the labels that forms every sum which the regression metrics with independent
 * normal label errors need.
 *
 * For label i write d = prediction - label, s = its error (sigma), w = its weight, z = |d|/s.
 * A label drawn afresh gives the error d + s*Z with Z standard normal, and
 *
 *     E|d + s Z|   = |d| + s g(z),              g(z) = 2 [phi(z) - z Q(z)]
 *     Var|d + s Z| = s^2 - s g (2 |d| + s g)
 *     P(|d + s Z| <= tolerance)  from the normal tail Q.
 *
 * How it is made fast and exact:
 *   - The labels go through in blocks that stay in the first-level cache. Numbers that are not
 *     adjacent doubles become such first, so the sums do not depend on the memory layout.
 *   - The loops are plain C; "omp simd" only permits the compiler to sum in vector lanes. No
 *     OpenMP runtime is used, and nothing here needs (or survives) -ffast-math.
 *   - Block sums are added with their rounding errors carried along (Knuth's two-sum).
 *   - On x86-64 Linux the compiler makes three versions of each loop and the loader picks one.
 *
 * Nothing is checked label by label: a value that is not finite makes a sum not finite, and negative
 * errors or weights show in the smallest ones. The Python side looks at the sums.
 *
 * With "higher" sums the pass also forms those behind the cumulants 3 to 6 of a metric (sums.HIGHER), of labels and weights
 * divided by their unit, so that no power of them leaves the doubles. The other sums do not change with that.
 *
 * The array functions of array_sums.py give the same sums in the same order.
 */
#include "_extension.h"
#include "_normal.h"

#include <float.h>
#include <stddef.h>

#ifdef __FAST_MATH__
#error "the kernel relies on exact rounding: build it without -ffast-math"
#endif
#if defined(FLT_EVAL_METHOD) && (FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2)
#error "the kernel relies on doubles that are rounded at every step (no x87 arithmetic)"
#endif

/* ------------------------------------------------------------------ the sums, in Python's order */

enum {
    SUM_W,            /* w                                                                        */
    SUM_W2,           /* w^2                                                                      */
    SUM_D,            /* w d                                                                      */
    SUM_ABS,          /* w |d|                                                                    */
    SUM_SQ,           /* w d^2                                                                    */
    SUM_VAR,          /* w s^2                                                                    */
    SUM_FOLD,         /* w s g(z)                                                                 */
    SUM_D_W2,         /* w^2 d                                                                    */
    SUM_SQ_W2,        /* w^2 d^2                                                                  */
    SUM_FOURTH_W2,    /* w^2 d^4                                                                  */
    SUM_EXPABS_W2,    /* w^2 (|d| + s g(z))                                                       */
    SUM_VAR_W2,       /* w^2 s^2                                                                  */
    SUM_VAR2_W2,      /* w^2 s^4                                                                  */
    SUM_SQVAR_W2,     /* w^2 d^2 s^2                                                              */
    SUM_FOLDVAR_W2,   /* w^2 Var|d + s Z|                                                         */
    SUM_WITHIN,       /* w 1[|d| <= tolerance]                                                    */
    SUM_WITHIN_P,     /* w P(|d + s Z| <= tolerance) =: w P                                       */
    SUM_WITHIN_VAR_W2,/* w^2 P (1 - P)                                                            */
    SUM_Y1,           /* w c with c = label - reference                                           */
    SUM_Y2,           /* w c^2                                                                    */
    SUM_D_VAR_W2,     /* w^2 d s^2                                                                */
    SUM_Y_VAR_W2,     /* w^2 c s^2                                                                */
    SUM_Y2_VAR_W2,    /* w^2 c^2 s^2                                                              */
    SUM_Y_D_VAR_W2,   /* w^2 c d s^2                                                              */
    N_SUMS
};

/* The largest are taken over the labels of positive weight, the smallest over all labels. */
enum { MAX_ABS_D, MAX_SIGMA, MAX_WEIGHT, MAX_ABS_Y, MIN_SIGMA, MIN_WEIGHT, N_EXTREMES, FIRST_MINIMUM = MIN_SIGMA };

static const char *const NAMES[N_SUMS + N_EXTREMES] = {
    "w", "w2", "d", "abs", "sq", "var", "fold", "d_w2", "sq_w2", "fourth_w2", "expabs_w2", "var_w2", "var2_w2",
    "sqvar_w2", "foldvar_w2", "within", "within_p", "within_var_w2", "y1", "y2", "d_var_w2", "y_var_w2", "y2_var_w2",
    "y_d_var_w2", "max_abs_d", "max_sigma", "max_weight", "max_abs_y", "min_sigma", "min_weight",
};

/* Higher sums, for each order r from 3 to 6, with u = w s^2:
 *     SQUARES    u^r, u^(r-1) w d^2
 *     RATIO      the same, and u^(r-1) w times 1, d, c, c d, c^2
 *     ABSOLUTE   (w s)^r, (w s)^r times the cumulant of |Z + z|; after all orders w s */
enum { NONE, SQUARES, RATIO, ABSOLUTE };
enum { FIRST_ORDER = 3, LAST_ORDER = 6, ORDERS = 4, MOST_HIGHER = 7 * ORDERS, LAYOUT = 2 };
static const int N_HIGHER[] = {0, 2 * ORDERS, 7 * ORDERS, 2 * ORDERS + 1};

/* ------------------------------------------------------------------ one block of labels */

enum { BLOCK = 512 };

typedef struct {
    int count;
    const double *y, *p, *sigma, *weight;   /* where the block's numbers lie: the caller's arrays or copies */
    ALIGNED double d[BLOCK];                /* prediction - label */
    ALIGNED double fold[BLOCK];             /* s g(z) */
    double sum[N_SUMS + MOST_HIGHER];
    double extreme[N_EXTREMES];
} Block;

typedef struct {
    double sum[N_SUMS + MOST_HIGHER];
    double lost[N_SUMS + MOST_HIGHER]; /* what rounding took from the sums so far */
    double extreme[N_EXTREMES];
} Totals;

/* ------------------------------------------------------------------ the loops over a block */

FOR_EACH_CPU
static void folded_normal(Block *restrict block)
{
    const double *restrict y = block->y, *restrict p = block->p, *restrict sigma = block->sigma;
    double *restrict d = block->d, *restrict out = block->fold;
    const double end = FOLD_END;
    const int count = block->count;
#pragma omp simd
    for (int i = 0; i < count; i++) {
        d[i] = p[i] - y[i];
        const double z = fabs(d[i]) / (sigma[i] + SMALLEST_NORMAL);
        const double m = sigma[i] * fold(z);
        out[i] = z < end ? m : 0;
    }
}

/* All labels count alike: the sums with w^2 equal those with w, and are filled in afterwards. */
FOR_EACH_CPU
static void sum_plain(Block *restrict block)
{
    const double *restrict ds = block->d, *restrict sigmas = block->sigma, *restrict folds = block->fold;
    const int count = block->count;
    double sum_d = 0, sum_abs = 0, sum_sq = 0, sum_fourth = 0, sum_var = 0, sum_var2 = 0, sum_sqvar = 0;
    double sum_fold = 0, sum_folded = 0, max_abs_d = 0, max_sigma = 0, min_sigma = INFINITY;
#pragma omp simd reduction(+ : sum_d, sum_abs, sum_sq, sum_fourth, sum_var, sum_var2, sum_sqvar, sum_fold) \
    reduction(+ : sum_folded) reduction(max : max_abs_d, max_sigma) reduction(min : min_sigma)
    for (int i = 0; i < count; i++) {
        const double d = ds[i], a = fabs(d), s = sigmas[i], m = folds[i], sq = d * d, var = s * s;
        sum_d += d;
        sum_abs += a;
        sum_sq += sq;
        sum_fourth += sq * sq;
        sum_var += var;
        sum_var2 += var * var;
        sum_sqvar += sq * var;
        sum_fold += m;
        sum_folded += m * (a + a + m);
        max_abs_d = a > max_abs_d ? a : max_abs_d;
        max_sigma = s > max_sigma ? s : max_sigma;
        min_sigma = s < min_sigma ? s : min_sigma;
    }
    double *restrict sum = block->sum;
    sum[SUM_W] = sum[SUM_W2] = count;
    sum[SUM_D] = sum[SUM_D_W2] = sum_d;
    sum[SUM_ABS] = sum_abs;
    sum[SUM_SQ] = sum[SUM_SQ_W2] = sum_sq;
    sum[SUM_FOURTH_W2] = sum_fourth;
    sum[SUM_VAR] = sum[SUM_VAR_W2] = sum_var;
    sum[SUM_VAR2_W2] = sum_var2;
    sum[SUM_SQVAR_W2] = sum_sqvar;
    sum[SUM_FOLD] = sum_fold;
    sum[SUM_EXPABS_W2] = sum_abs + sum_fold;
    sum[SUM_FOLDVAR_W2] = sum_var - sum_folded; /* at least 0.36 sum_var: no cancellation */
    block->extreme[MAX_ABS_D] = max_abs_d;
    block->extreme[MAX_SIGMA] = max_sigma;
    block->extreme[MIN_SIGMA] = min_sigma;
    block->extreme[MAX_WEIGHT] = block->extreme[MIN_WEIGHT] = 1;
}

#define WEIGHTED_COLUMNS(block)                                                                                       \
    const double *restrict ds = block->d, *restrict sigmas = block->sigma, *restrict weights = block->weight;         \
    const int count = block->count

FOR_EACH_CPU
static void sum_weighted(Block *restrict block)
{
    WEIGHTED_COLUMNS(block);
    const double *restrict folds = block->fold;
    double sum_w = 0, sum_w2 = 0, sum_d = 0, sum_abs = 0, sum_sq = 0, sum_var = 0, sum_fold = 0, sum_d_w2 = 0;
    double sum_sq_w2 = 0, sum_fourth_w2 = 0, sum_expabs_w2 = 0, sum_var_w2 = 0, sum_var2_w2 = 0, sum_sqvar_w2 = 0;
    double sum_folded_w2 = 0, max_abs_d = 0, max_sigma = 0, max_weight = 0, min_sigma = INFINITY, min_weight = INFINITY;
#pragma omp simd reduction(+ : sum_w, sum_w2, sum_d, sum_abs, sum_sq, sum_var, sum_fold, sum_d_w2, sum_sq_w2) \
    reduction(+ : sum_fourth_w2, sum_expabs_w2, sum_var_w2, sum_var2_w2, sum_sqvar_w2, sum_folded_w2) \
    reduction(max : max_abs_d, max_sigma, max_weight) reduction(min : min_sigma, min_weight)
    for (int i = 0; i < count; i++) {
        const double d = ds[i], a = fabs(d), s = sigmas[i], m = folds[i], sq = d * d, var = s * s;
        const double w = weights[i], w2 = w * w, w2_sq = w2 * sq, w2_var = w2 * var;
        sum_w += w;
        sum_w2 += w2;
        sum_d += w * d;
        sum_abs += w * a;
        sum_sq += w * sq;
        sum_var += w * var;
        sum_fold += w * m;
        sum_d_w2 += w2 * d;
        sum_sq_w2 += w2_sq;
        sum_fourth_w2 += w2_sq * sq;
        sum_expabs_w2 += w2 * (a + m);
        sum_var_w2 += w2_var;
        sum_var2_w2 += w2_var * var;
        sum_sqvar_w2 += w2_sq * var;
        sum_folded_w2 += w2 * m * (a + a + m);
        /* labels of weight zero count for nothing, so they do not set the range either */
        const double counted_a = w > 0 ? a : 0, counted_s = w > 0 ? s : 0;
        max_abs_d = counted_a > max_abs_d ? counted_a : max_abs_d;
        max_sigma = counted_s > max_sigma ? counted_s : max_sigma;
        max_weight = w > max_weight ? w : max_weight;
        min_sigma = s < min_sigma ? s : min_sigma;
        min_weight = w < min_weight ? w : min_weight;
    }
    double *restrict sum = block->sum;
    sum[SUM_W] = sum_w;
    sum[SUM_W2] = sum_w2;
    sum[SUM_D] = sum_d;
    sum[SUM_ABS] = sum_abs;
    sum[SUM_SQ] = sum_sq;
    sum[SUM_VAR] = sum_var;
    sum[SUM_FOLD] = sum_fold;
    sum[SUM_D_W2] = sum_d_w2;
    sum[SUM_SQ_W2] = sum_sq_w2;
    sum[SUM_FOURTH_W2] = sum_fourth_w2;
    sum[SUM_EXPABS_W2] = sum_expabs_w2;
    sum[SUM_VAR_W2] = sum_var_w2;
    sum[SUM_VAR2_W2] = sum_var2_w2;
    sum[SUM_SQVAR_W2] = sum_sqvar_w2;
    sum[SUM_FOLDVAR_W2] = sum_var_w2 - sum_folded_w2;
    const double extreme[N_EXTREMES] = {max_abs_d, max_sigma, max_weight, 0, min_sigma, min_weight};
    memcpy(block->extreme, extreme, sizeof extreme); /* of the labels: in sum_labels */
}

/* P(|d + s Z| <= tolerance) from the tails beyond the near and the far edge of the band. The small
 * one of P and 1 - P is formed without cancellation, so that P (1 - P) keeps its digits. */
FOR_EACH_CPU
static void sum_within(Block *restrict block, double tolerance)
{
    WEIGHTED_COLUMNS(block);
    const double end = TAIL_END;
    double sum_within = 0, sum_within_p = 0, sum_within_var_w2 = 0;
#pragma omp simd reduction(+ : sum_within, sum_within_p, sum_within_var_w2)
    for (int i = 0; i < count; i++) {
        const double a = fabs(ds[i]), s = sigmas[i], w = weights[i], per_sigma = 1 / (s + SMALLEST_NORMAL);
        const double z_near = fabs(tolerance - a) * per_sigma, z_far = (tolerance + a) * per_sigma;
        const double near_tail = tail(z_near < end ? z_near : end), cut_tail = tail(z_far < end ? z_far : end);
        const double far_tail = z_far < end ? cut_tail : 0;
        const double beyond = a <= tolerance ? near_tail + far_tail : near_tail - far_tail;
        /* P(the label ends up on the other side of the edge); an exact one stays, even on the edge */
        const double moves = (s > 0) & (z_near < end) ? beyond : 0;
        sum_within += a <= tolerance ? w : 0;
        sum_within_p += w * (a <= tolerance ? 1 - moves : moves);
        sum_within_var_w2 += w * w * moves * (1 - moves);
    }
    block->sum[SUM_WITHIN] = sum_within;
    block->sum[SUM_WITHIN_P] = sum_within_p;
    block->sum[SUM_WITHIN_VAR_W2] = sum_within_var_w2;
}

/* Scatter of the labels, and how it moves together with the errors (for R2 and its kin). */
FOR_EACH_CPU
static void sum_labels(Block *restrict block, double reference)
{
    WEIGHTED_COLUMNS(block);
    const double *restrict ys = block->y;
    double sum_y1 = 0, sum_y2 = 0, sum_d_var = 0, sum_y_var = 0, sum_y2_var = 0, sum_y_d_var = 0, max_abs_y = 0;
#pragma omp simd reduction(+ : sum_y1, sum_y2, sum_d_var, sum_y_var, sum_y2_var, sum_y_d_var) \
    reduction(max : max_abs_y)
    for (int i = 0; i < count; i++) {
        const double y = ys[i] - reference, d = ds[i], s = sigmas[i], w = weights[i], w2_var = w * w * s * s;
        sum_y1 += w * y;
        sum_y2 += w * y * y;
        sum_d_var += w2_var * d;
        sum_y_var += w2_var * y;
        sum_y2_var += w2_var * y * y;
        sum_y_d_var += w2_var * y * d;
        const double counted_y = w > 0 ? fabs(y) : 0;
        max_abs_y = counted_y > max_abs_y ? counted_y : max_abs_y;
    }
    const double sums[] = {sum_y1, sum_y2, sum_d_var, sum_y_var, sum_y2_var, sum_y_d_var};
    memcpy(block->sum + SUM_Y1, sums, sizeof sums);
    block->extreme[MAX_ABS_Y] = max_abs_y;
}

/* The higher sums of one order: of `power` = (w s^2)^(r-1) w, which the next order multiplies by w s^2. */
FOR_EACH_CPU
static void sum_squares(Block *restrict block, double *restrict power, double per_unit, double per_weight, double *out)
{
    WEIGHTED_COLUMNS(block);
    double own = 0, offset = 0;
#pragma omp simd reduction(+ : own, offset)
    for (int i = 0; i < count; i++) {
        const double d = ds[i] * per_unit, s = sigmas[i] * per_unit, w = weights[i] * per_weight, t = power[i];
        own += t * s * s;
        offset += t * d * d;
        power[i] = t * (w * s * s);
    }
    out[0] = own;
    out[1] = offset;
}

FOR_EACH_CPU
static void sum_ratio(Block *restrict block, double *restrict power, double per_unit, double per_weight, double reference,
                      double *out)
{
    WEIGHTED_COLUMNS(block);
    const double *restrict ys = block->y;
    double own = 0, offset = 0, one = 0, sum_d = 0, sum_c = 0, sum_cd = 0, sum_cc = 0;
#pragma omp simd reduction(+ : own, offset, one, sum_d, sum_c, sum_cd, sum_cc)
    for (int i = 0; i < count; i++) {
        const double d = ds[i] * per_unit, s = sigmas[i] * per_unit, w = weights[i] * per_weight, t = power[i];
        const double c = (ys[i] - reference) * per_unit, td = t * d, tc = t * c;
        own += t * s * s;
        offset += td * d;
        one += t;
        sum_d += td;
        sum_c += tc;
        sum_cd += tc * d;
        sum_cc += tc * c;
        power[i] = t * (w * s * s);
    }
    const double sums[] = {own, offset, one, sum_d, sum_c, sum_cd, sum_cc};
    memcpy(out, sums, sizeof sums);
}

/* Cumulants of |Z + z| with f = phi(z), m = z + g its mean and h = m^2 - z^2 = g (2 z + g). */
FOR_EACH_CPU
static void sum_absolute(Block *restrict block, double per_unit, double per_weight, double *out)
{
    WEIGHTED_COLUMNS(block);
    const double *restrict folds = block->fold;
    const double end = FOLD_END;
    double own3 = 0, own4 = 0, own5 = 0, own6 = 0, k3 = 0, k4 = 0, k5 = 0, k6 = 0, first = 0;
#pragma omp simd reduction(+ : own3, own4, own5, own6, k3, k4, k5, k6, first)
    for (int i = 0; i < count; i++) {
        const double s = sigmas[i], per_sigma = 1 / (s + SMALLEST_NORMAL), away = fabs(ds[i]) * per_sigma;
        const double near = away < end ? 1 : 0, z = away < end ? away : end, g = folds[i] * per_sigma;
        const double f = near * 0.39894228040143267794 * gauss(z), zz = z * z, m = z + g, h = near * g * (2 * z + g);
        const double a = weights[i] * per_weight * (s * per_unit), a2 = a * a, a4 = a2 * a2;
        const double a3 = a2 * a, a5 = a4 * a, a6 = a4 * a2;
        first += a;
        own3 += a3;
        own4 += a4;
        own5 += a5;
        own6 += a6;
        k3 += a3 * (2 * (m * h - f));
        k4 += a4 * (8 * m * f - h * (6 * h + 4 * zz));
        k5 += a5 * (f * (6 - 40 * h - 22 * zz) + 8 * m * h * (3 * h + zz));
        k6 += a6 * (m * f * (240 * h + 52 * zz - 36) - h * (120 * h * (h + zz) + 16 * zz * zz) - 40 * f * f);
    }
    const double sums[] = {own3, k3, own4, k4, own5, k5, own6, k6, first};
    memcpy(out, sums, sizeof sums);
}

FOR_EACH_CPU
static void first_powers(Block *restrict block, double *restrict power, double per_unit, double per_weight)
{
    WEIGHTED_COLUMNS(block);
    (void)ds;
#pragma omp simd
    for (int i = 0; i < count; i++) {
        const double s = sigmas[i] * per_unit, w = weights[i] * per_weight, u = w * s * s;
        power[i] = u * u * w;
    }
}

typedef struct {
    int kind;
    double per_unit, per_weight;
} Higher;

static void sum_higher(Block *block, const Higher *higher, double reference)
{
    double power[BLOCK], *out = block->sum + N_SUMS;
    if (higher->kind == ABSOLUTE) {
        sum_absolute(block, higher->per_unit, higher->per_weight, out);
        return;
    }
    first_powers(block, power, higher->per_unit, higher->per_weight);
    for (int r = FIRST_ORDER; r <= LAST_ORDER; r++) {
        if (higher->kind == SQUARES)
            sum_squares(block, power, higher->per_unit, higher->per_weight, out);
        else
            sum_ratio(block, power, higher->per_unit, higher->per_weight, reference, out);
        out += N_HIGHER[higher->kind] / ORDERS;
    }
}

/* Add the block to the totals; two-sum gives the rounding error of each addition exactly. */
static void add_block(Totals *restrict totals, const Block *restrict block, int sums)
{
    for (int k = 0; k < sums; k++) {
        const double before = totals->sum[k], addend = block->sum[k];
        const double after = before + addend, added = after - before;
        totals->lost[k] += (before - (after - added)) + (addend - added);
        totals->sum[k] = after;
    }
    for (int k = 0; k < N_EXTREMES; k++) {
        const double so_far = totals->extreme[k], here = block->extreme[k];
        if (k < FIRST_MINIMUM ? here > so_far : here < so_far)
            totals->extreme[k] = here;
    }
}

/* ------------------------------------------------------------------ columns of numbers in memory */

typedef struct {
    Py_buffer buffer;
    int held;     /* the buffer must be given back */
    int single;   /* float32, else float64 */
    int constant; /* one value for all labels */
    double value; /* that value */
} Column;

typedef struct {
    Column y, prediction, sigma, weight; /* a constant weight means all labels count alike */
    Py_ssize_t count;
    int with_tolerance, with_labels;
    double tolerance, reference;
    Higher higher;
} Task;

FOR_EACH_CPU
static void widen(const float *restrict from, int count, double *restrict to)
{
#pragma omp simd
    for (int i = 0; i < count; i++)
        to[i] = from[i];
}

/* The numbers of a column from `start` on as adjacent doubles: in place where they are that, else
 * copied to `room`, whatever their spacing and alignment. A constant fills `room` once, at start 0. */
static const double *doubles(const Column *column, Py_ssize_t start, int count, double *restrict room)
{
    if (column->constant) {
        for (int i = 0; start == 0 && i < count; i++)
            room[i] = column->value;
        return room;
    }
    const Py_ssize_t step = column->buffer.strides[0];
    const char *from = (const char *)column->buffer.buf + start * step;
    const Py_ssize_t size = column->single ? (Py_ssize_t)sizeof(float) : (Py_ssize_t)sizeof(double);
    const int adjacent = step == size && (uintptr_t)from % (uintptr_t)size == 0;
    if (adjacent && !column->single)
        return (const double *)(const void *)from;
    if (adjacent) {
        widen((const float *)(const void *)from, count, room);
    } else if (column->single) {
        for (int i = 0; i < count; i++) {
            float value;
            memcpy(&value, from + i * step, sizeof value);
            room[i] = value;
        }
    } else {
        for (int i = 0; i < count; i++)
            memcpy(&room[i], from + i * step, sizeof(double));
    }
    return room;
}

static void add_up(const Task *task, Totals *totals)
{
    Block block;
    double y_room[BLOCK], p_room[BLOCK], sigma_room[BLOCK], weight_room[BLOCK];
    memset(totals, 0, sizeof *totals);
    totals->extreme[MIN_SIGMA] = totals->extreme[MIN_WEIGHT] = INFINITY;
    memset(block.sum, 0, sizeof block.sum);
    memset(block.extreme, 0, sizeof block.extreme);
    for (Py_ssize_t start = 0; start < task->count; start += BLOCK) {
        const int count = task->count - start < BLOCK ? (int)(task->count - start) : BLOCK;
        block.count = count;
        block.y = doubles(&task->y, start, count, y_room);
        block.p = doubles(&task->prediction, start, count, p_room);
        block.sigma = doubles(&task->sigma, start, count, sigma_room);
        block.weight = doubles(&task->weight, start, count, weight_room);
        folded_normal(&block);
        if (task->weight.constant)
            sum_plain(&block);
        else
            sum_weighted(&block);
        if (task->with_tolerance)
            sum_within(&block, task->tolerance);
        if (task->with_labels)
            sum_labels(&block, task->reference);
        if (task->higher.kind)
            sum_higher(&block, &task->higher, task->reference);
        add_block(totals, &block, N_SUMS + N_HIGHER[task->higher.kind]);
    }
}

/* ------------------------------------------------------------------ Python */

static int take_number(PyObject *object, double *value)
{
    *value = PyFloat_AsDouble(object);
    return *value == -1.0 && PyErr_Occurred() ? -1 : 0;
}

/* A Python number becomes a constant column, None the constant 1, an array a column of its buffer. */
static int take_column(PyObject *object, const char *name, Column *column)
{
    if (object == Py_None || PyFloat_Check(object)) {
        column->constant = 1;
        column->value = 1.0;
        return object == Py_None ? 0 : take_number(object, &column->value);
    }
    if (PyObject_GetBuffer(object, &column->buffer, PyBUF_STRIDES | PyBUF_FORMAT) < 0)
        return -1;
    column->held = 1;
    const char *format = column->buffer.format != NULL ? column->buffer.format : "";
    if (*format == '@' || *format == '=') /* native byte order; NumPy writes '=' for misaligned arrays */
        format++;
    column->single = strcmp(format, "f") == 0;
    if (column->buffer.ndim != 1 || !(column->single || strcmp(format, "d") == 0)) {
        PyErr_Format(PyExc_TypeError, "%s must be a 1-D array of float32 or float64 in native byte order", name);
        return -1;
    }
    return 0;
}

static int fits(const Column *column, Py_ssize_t count)
{
    return column->constant || column->buffer.shape[0] == count;
}

static int take_higher(PyObject *const *args, Task *task)
{
    Higher *higher = &task->higher;
    double kind;
    if (take_number(args[0], &kind) < 0 || take_number(args[1], &higher->per_unit) < 0 ||
        take_number(args[2], &higher->per_weight) < 0)
        return -1;
    higher->kind = kind >= NONE && kind <= ABSOLUTE ? (int)kind : -1;
    if (higher->kind < 0 || (higher->kind == RATIO && !task->with_labels)) {
        higher->kind = NONE;
        PyErr_SetString(PyExc_ValueError, "higher sums are of kind 0 to 3, and those of kind 2 need a reference");
        return -1;
    }
    return 0;
}

static int take_task(PyObject *const *args, Py_ssize_t n_args, Task *task)
{
    if (take_column(args[0], "y", &task->y) < 0 || take_column(args[1], "prediction", &task->prediction) < 0 ||
        take_column(args[2], "sigma", &task->sigma) < 0 || take_column(args[3], "weight", &task->weight) < 0)
        return -1;
    if (task->y.constant || task->prediction.constant || args[2] == Py_None || PyFloat_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError,
                        "y and prediction must be arrays, sigma an array or a float, weight an array or None");
        return -1;
    }
    task->count = task->y.buffer.shape[0];
    if (!fits(&task->prediction, task->count) || !fits(&task->sigma, task->count) ||
        !fits(&task->weight, task->count)) {
        PyErr_SetString(PyExc_ValueError, "y, prediction, sigma and weight must have the same length");
        return -1;
    }
    task->with_tolerance = args[4] != Py_None;
    task->with_labels = args[5] != Py_None;
    if ((task->with_tolerance && take_number(args[4], &task->tolerance) < 0) ||
        (task->with_labels && take_number(args[5], &task->reference) < 0))
        return -1;
    return n_args > 6 ? take_higher(args + 6, task) : 0;
}

static void give_back(Task *task)
{
    Column *columns[4] = {&task->y, &task->prediction, &task->sigma, &task->weight};
    for (int k = 0; k < 4; k++)
        if (columns[k]->held)
            PyBuffer_Release(&columns[k]->buffer);
}

static PyObject *as_tuple(const Totals *totals, int higher)
{
    const int named = N_SUMS + N_EXTREMES;
    PyObject *result = PyTuple_New(named + higher);
    for (int k = 0; result != NULL && k < named + higher; k++) {
        const int at = k < named ? k : k - N_EXTREMES;
        const int extreme = k >= N_SUMS && k < named;
        const double value = extreme ? totals->extreme[k - N_SUMS] : totals->sum[at] + totals->lost[at];
        PyObject *number = PyFloat_FromDouble(value);
        if (number == NULL || PyTuple_SetItem(result, k, number) < 0)
            Py_CLEAR(result);
    }
    return result;
}

PyDoc_STRVAR(chunk_sums_doc,
             "chunk_sums(y, prediction, sigma, weight, tolerance, reference[, kind, per_unit, per_weight]) -> floats\n\n"
             "The sums named in NAMES. sigma may be a float, weight None, tolerance and reference None\n"
             "(their sums are then 0). The higher sums of a kind follow, of labels times per_unit and weights times\n"
             "per_weight. Other threads run meanwhile.");

static PyObject *chunk_sums(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    if (n_args != 6 && n_args != 9) {
        PyErr_SetString(PyExc_TypeError, "chunk_sums(y, prediction, sigma, weight, tolerance, reference[, kind, "
                                         "per_unit, per_weight])");
        return NULL;
    }
    Task task;
    Totals totals;
    memset(&task, 0, sizeof task);
    PyObject *result = NULL;
    if (take_task(args, n_args, &task) == 0) {
        Py_BEGIN_ALLOW_THREADS
        add_up(&task, &totals);
        Py_END_ALLOW_THREADS
        result = as_tuple(&totals, N_HIGHER[task.higher.kind]);
    }
    give_back(&task);
    return result;
}

PyDoc_STRVAR(instruction_set_doc, "instruction_set() -> which build of the loops this processor runs");

static PyObject *instruction_set(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    const char *name = "as compiled";
#if HAS_CLONES
    __builtin_cpu_init();
    name = "x86-64 baseline";
    if (__builtin_cpu_supports("x86-64-v3"))
        name = "x86-64-v3 (AVX2)";
    if (__builtin_cpu_supports("x86-64-v4"))
        name = "x86-64-v4 (AVX-512)";
#endif
    return PyUnicode_FromString(name);
}

static int add_names(PyObject *module)
{
    PyObject *names = PyTuple_New(N_SUMS + N_EXTREMES);
    for (int k = 0; names != NULL && k < N_SUMS + N_EXTREMES; k++) {
        PyObject *name = PyUnicode_FromString(NAMES[k]);
        if (name == NULL || PyTuple_SetItem(names, k, name) < 0)
            Py_CLEAR(names);
    }
    const int failed = names == NULL || PyModule_AddObjectRef(module, "NAMES", names) < 0 ||
                       PyModule_AddIntConstant(module, "LAYOUT", LAYOUT) < 0;
    Py_XDECREF(names);
    return failed ? -1 : 0;
}

static PyMethodDef methods[] = {
    {"chunk_sums", (PyCFunction)(void (*)(void))chunk_sums, METH_FASTCALL, chunk_sums_doc},
    {"instruction_set", instruction_set, METH_NOARGS, instruction_set_doc},
    {NULL, NULL, 0, NULL},
};

EXTENSION_MODULE(_kernel, "Sums over labels with normal errors, compiled.", add_names, methods);
