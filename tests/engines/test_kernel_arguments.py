"""The compiled modules check what they are given, also by someone who calls them directly: they never leave their memory."""

import numpy as np
import pytest

from scorebars.engines import engine

MODULES = [engine.compiled(name).module for name in ("_kernel", "_bins", "_scores")]
KERNEL, BINS, SCORES = MODULES
pytestmark = pytest.mark.skipif(None in MODULES, reason="the compiled modules are not built")

N, ROWS, MINORS = 5, 32, 193


def bin_arguments(folded, **changed):
    """Arguments of a loop of _bins that are right but for those that are changed."""
    columns = 4 if folded else 8
    z_bins = MINORS - 1 if folded else 0
    bits = 50 if folded else 47
    rows = ROWS * MINORS + 1 if folded else ROWS + 1
    given = {
        "y": np.linspace(0.0, 1.0, N),
        "prediction": np.zeros(N),
        "sigma": np.full(N, 1.0),
        "weight": None,
        "shift": 0.0,
        "columns": columns,
        "z_bins": z_bins,
        "z_width": 0.0625,
        "bits": bits,
        "first": 1023 << (52 - bits),
        "threshold": 10.0,
        "bins": ROWS,
        "moments": np.zeros((rows, 4, columns)),
        "totals": np.zeros(1 if folded else 15),
        "apart": np.zeros(N, dtype=np.int64),
    }
    return tuple((given | changed).values())


LOOPS = pytest.mark.parametrize("folded", [False, True], ids=["square_bins", "folded_bins"])


def loop(folded):
    return BINS.folded_bins if folded else BINS.square_bins


@LOOPS
def test_right_arguments_are_taken(folded):
    given = bin_arguments(folded)
    assert loop(folded)(*given) == 0
    assert given[-3][:, 0, 0].sum() == N


def misaligned(n):
    return np.frombuffer(bytes(8 * n + 1), dtype=np.float64, offset=1)


BAD_ARRAYS = {
    "single precision": (np.zeros(2 * N, dtype=np.float32), TypeError, "must be an array of float64"),
    "integers": (np.zeros(N, dtype=np.int64), TypeError, "must be an array of float64"),
    "bytes": (bytes(8 * N), TypeError, "must be an array of float64"),
    "other byte order": (np.zeros(N, dtype=">f8"), TypeError, "must be an array of float64"),
    "complex": (np.zeros(N, dtype=complex), TypeError, "must be an array of float64"),
    "not adjacent": (np.zeros(2 * N)[::2], (ValueError, BufferError), "contiguous"),
    "too short": (np.zeros(N - 1), ValueError, "holds 4 numbers, not 5"),
    "too long": (np.zeros(N + 1), ValueError, "holds 6 numbers, not 5"),
    "misaligned": (misaligned(N), ValueError, "not aligned"),
    "no array": ([0.0] * N, TypeError, "bytes-like"),
}


@LOOPS
@pytest.mark.parametrize("argument", ["prediction", "sigma", "weight"])
@pytest.mark.parametrize("kind", BAD_ARRAYS)
def test_arrays_that_are_none(folded, argument, kind):
    bad, error, text = BAD_ARRAYS[kind]
    with pytest.raises(error, match=text):
        loop(folded)(*bin_arguments(folded, **{argument: bad}))


BAD_NUMBERS = {
    "columns": (0, 5, -4, 1 << 40),
    "bits": (0, 53, -1, 64),
    "first": (-1, -(1 << 63), (1 << 63) - 1),
    "bins": (-1, 1 << 33, (1 << 62), ROWS + 1),
}


@LOOPS
@pytest.mark.parametrize(("argument", "bad"), [(name, bad) for name, some in BAD_NUMBERS.items() for bad in some])
def test_numbers_out_of_range(folded, argument, bad):
    with pytest.raises(ValueError, match=r"out of range|numbers, not"):
        loop(folded)(*bin_arguments(folded, **{argument: bad}))


@pytest.mark.parametrize("bad", [-1, 0, 1 << 40, MINORS])
def test_z_bins_out_of_range(bad):
    with pytest.raises(ValueError, match=r"out of range|numbers, not"):
        BINS.folded_bins(*bin_arguments(True, z_bins=bad))


@pytest.mark.parametrize("bad", [-0.0625, 0.0, float("nan")])
def test_z_width_must_be_positive(bad):
    with pytest.raises(ValueError, match="z_width"):
        BINS.folded_bins(*bin_arguments(True, z_width=bad))


@LOOPS
@pytest.mark.parametrize("output", ["moments", "totals", "apart"])
def test_outputs_must_be_writable_and_fit(folded, output):
    given = dict(zip(("moments", "totals", "apart"), bin_arguments(folded)[-3:], strict=True))[output]
    frozen = given.copy()
    frozen.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match=r"read-only|writable"):
        loop(folded)(*bin_arguments(folded, **{output: frozen}))
    with pytest.raises(ValueError, match="numbers, not"):
        loop(folded)(*bin_arguments(folded, **{output: np.zeros(given.size + 1, dtype=given.dtype)}))


@LOOPS
@pytest.mark.parametrize("sigma", [-1.0, 0.0, np.nan, np.inf, -np.inf, 5e-324, 1.7e308])
@pytest.mark.parametrize("weight", [-1.0, 0.0, np.nan, np.inf])
@pytest.mark.parametrize("y", [0.0, np.nan, np.inf, -1e308, 30.0])
def test_bad_values_stay_in_their_memory(folded, sigma, weight, y):
    """Rows of canaries on both sides of the bins keep their values: a label with a negative error and a negative weight
    has a positive v, and must not be placed before the first bin."""
    rows, columns = (ROWS * MINORS + 1, 4) if folded else (ROWS + 1, 8)
    guarded = np.full((rows + 400, 4, columns), 7.0)
    inside = guarded[200:-200]
    inside[:] = 0.0
    values = {"y": np.full(N, y), "sigma": np.full(N, sigma), "weight": np.full(N, weight), "moments": inside}
    with np.errstate(all="ignore"):
        apart = loop(folded)(*bin_arguments(folded, **values))
    assert 0 <= apart <= N
    assert np.all(guarded[:200] == 7.0)
    assert np.all(guarded[-200:] == 7.0)


def test_the_kernel_refuses_what_it_cannot_sum():
    y = np.zeros(N)
    for bad in (np.zeros(N, dtype=np.int32), np.zeros((N, 1)), np.zeros(N, dtype=">f8"), np.zeros(N, dtype=complex)):
        for place in range(4):
            given = [y, y, y, y, None, None]
            given[place] = bad
            with pytest.raises(TypeError, match="1-D array of float32 or float64"):
                KERNEL.chunk_sums(*given)
    for given in ((0.0, y, y, None), (y, None, y, None), (y, y, None, None), (y, y, y, 1.0)):
        with pytest.raises(TypeError, match="y and prediction must be arrays"):
            KERNEL.chunk_sums(*given, None, None)
    with pytest.raises(ValueError, match="same length"):
        KERNEL.chunk_sums(y, np.zeros(N + 1), y, None, None, None)
    with pytest.raises(TypeError):
        KERNEL.chunk_sums(y, y, y, None, "wide", None)
    with pytest.raises(TypeError, match="chunk_sums"):
        KERNEL.chunk_sums(y, y)


def test_scores_of_forecasts_refuse_sizes_that_do_not_fit():
    row = np.zeros(2)
    for n, m in ((-1, 2), (2, -1), (2, 0), (2, 1 << 62), (1 << 62, 2), (1 << 32, 1 << 32)):
        with pytest.raises(ValueError, match=r"out of range|numbers, not"):
            SCORES.member_crps(n, m, 1.0, np.zeros((2, 2)), row, row, row, row, row)
    with pytest.raises(ValueError, match="negative"):
        SCORES.normal_crps(-1, *[row] * 7)
    with pytest.raises(ValueError, match="holds 2 numbers, not 3"):
        SCORES.normal_crps(3, *[row] * 7)
    with pytest.raises(TypeError, match="float64"):
        SCORES.normal_crps(2, *[np.zeros(2, dtype=np.float32)] * 7)
