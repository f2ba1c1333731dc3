/*
 * What the extension modules share: Python's limited API, one build of a loop for each kind of processor, and how a module
 * is declared.
 */
#ifndef SCOREBARS_EXTENSION_H
#define SCOREBARS_EXTENSION_H

#if !defined(Py_LIMITED_API) && !defined(Py_GIL_DISABLED)
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Three builds of a loop (AVX-512, AVX2, plain), chosen when the library is loaded: the plain one
 * is three times slower. Needs GCC 12 and a loader that knows indirect functions (glibc). */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define HAS_CLONES 1
#define FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif defined(__GNUC__)
#define HAS_CLONES 0
#define FOR_EACH_CPU __attribute__((noinline)) /* inlined into one another, loops lose what `restrict` says of them */
#else
#define HAS_CLONES 0
#define FOR_EACH_CPU
#endif

#if defined(__GNUC__)
#define ALIGNED __attribute__((aligned(64)))
#define INLINE static inline __attribute__((always_inline))
#else
#define ALIGNED
#define INLINE static inline
#endif
#ifdef _MSC_VER
#define restrict __restrict /* after the system headers, which have other uses for the word */
#endif

#ifdef Py_mod_gil
#define NO_GIL_NEEDED {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#else
#define NO_GIL_NEEDED
#endif

/* A buffer of adjacent numbers of one kind: 'd' doubles, 'q' 64-bit integers. `count` < 0: any number of them. The caller
 * releases the views that are held, also after an error. */
INLINE int take_buffer(PyObject *object, Py_buffer *view, int *held, int writable, char kind, Py_ssize_t count,
                       const char *name)
{
    if (PyObject_GetBuffer(object, view, (writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) | PyBUF_FORMAT) < 0)
        return -1;
    (*held)++;
    const char *format = view->format != NULL ? view->format : "B";
    if (*format == '@' || *format == '=') /* native byte order */
        format++;
    const int whole = (*format == 'q' || (*format == 'l' && sizeof(long) == 8)) && kind == 'q';
    if (!(whole || *format == kind) || format[1] != 0 || view->itemsize != 8) {
        PyErr_Format(PyExc_TypeError, "%s must be an array of %s in native byte order", name,
                     kind == 'd' ? "float64" : "int64");
        return -1;
    }
    if ((uintptr_t)view->buf % sizeof(double) != 0) {
        PyErr_Format(PyExc_ValueError, "%s is not aligned in memory: pass a copy", name);
        return -1;
    }
    if (count >= 0 && view->len / 8 != count) {
        PyErr_Format(PyExc_ValueError, "%s holds %zd numbers, not %zd", name, view->len / 8, count);
        return -1;
    }
    return 0;
}

/* The module scorebars.engines.`name`; `start(module)` adds its constants, `methods` are its functions. */
#define EXTENSION_MODULE(name, doc, start, methods)                                                                   \
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)start}, NO_GIL_NEEDED {0, NULL}};                        \
    static struct PyModuleDef definition = {                                                                          \
        .m_base = PyModuleDef_HEAD_INIT,                                                                              \
        .m_name = "scorebars.engines." #name,                                                                         \
        .m_doc = doc,                                                                                                 \
        .m_methods = methods,                                                                                         \
        .m_slots = slots,                                                                                             \
    };                                                                                                                \
    PyMODINIT_FUNC PyInit_##name(void)                                                                                \
    {                                                                                                                 \
        return PyModuleDef_Init(&definition);                                                                         \
    }                                                                                                                 \
    struct PyModuleDef /* takes the semicolon */

#endif
