"""The sums of every engine are those of the CPU engine: array API (torch, JAX, CuPy) and the fused Triton kernel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensor_cases import To, to_torch

from label_draws import draw
from scorebars.engines import coefficients, normal_sums
from scorebars.engines.array_sums import array_sums
from scorebars.engines.engine import collect, higher_rows, higher_sums
from scorebars.engines.sums import HIGHER, NAMES, NormalSums

GPU = torch.cuda.is_available()
SIZES = [1, 16, 17, 5003]
ROOT = Path(__file__).parents[2]
# Triton's interpreter computes with NumPy, which warns where a GPU is silent: of overflow in |d| / sigma, for instance
pytestmark = pytest.mark.filterwarnings("ignore:.* encountered in .*:RuntimeWarning")


@pytest.fixture(params=["array API", "triton"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "array API":
        return array_sums
    pytest.importorskip("triton")
    from scorebars.engines import triton_sums

    if not GPU:
        monkeypatch.setattr(triton_sums, "processors", lambda device: 1)
        monkeypatch.setattr(triton_sums, "_PROGRAMS_PER_PROCESSOR", 2)
    triton_sums._plan.cache_clear()
    return triton_sums.triton_sums


def agree(found: tuple[float, ...], exact: NormalSums, rtol: float = 1e-13) -> None:
    """Sums of terms of either sign are measured by what cancels in them."""
    size = {"d": exact.abs, "d_w2": exact.expabs_w2}
    size |= dict.fromkeys(("y1", "d_var_w2", "y_var_w2", "y_d_var_w2"), exact.loss2_sq + exact.y2 + exact.y2_var_w2)
    asked = [None if np.isnan(number) else number for number in (exact.tolerance, exact.y_shift)]
    sums = collect(exact.n, found, *asked)
    for name, value in exact._asdict().items():
        scale = abs(size.get(name, getattr(exact, name)))
        assert getattr(sums, name) == pytest.approx(value, rel=0, abs=rtol * scale, nan_ok=True), name


def tensors(columns: dict[str, Any], device: str = "cuda" if GPU else "cpu") -> list[Any]:
    make = to_torch(device)
    return [None if column is None else make(column) for column in columns.values()]


@pytest.mark.parametrize("tolerance", [None, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_sums(engine: Any, n: int, weighted: bool, tolerance: float | None) -> None:
    columns = draw(n) | ({} if weighted else {"weight": None})
    exact = normal_sums(**columns, tolerance=tolerance, labels=True)
    agree(engine(*tensors(columns), tolerance, exact.y_shift), exact)
    agree(engine(*tensors(columns), tolerance), normal_sums(**columns, tolerance=tolerance))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1.0, 1e4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("need", HIGHER)
def test_higher_sums(engine: Any, need: str, weighted: bool, size: float, dtype: str) -> None:
    columns = {name: (column * size).astype(dtype) for name, column in draw(1003).items()}
    columns |= {} if weighted else {"weight": None}
    sums = normal_sums(**columns, labels=True)
    rows, exact = higher_rows(need, sums), higher_sums(**columns, need=need, of=sums)
    assert rows is not None and exact is not None
    found = engine(*tensors(columns), None, sums.y_shift, *rows)
    agree(found[: len(NAMES)], sums, 1e-13 if dtype == "float64" else 1e-6)
    each = np.array(exact.rows[: len(exact.rows) // 4 * 4]).reshape(4, -1)  # rows of either sign: by the largest
    scale = np.append(np.broadcast_to(np.abs(each).max(axis=1, keepdims=True), each.shape), exact.rows[each.size :])
    error = np.abs(np.subtract(found[len(NAMES) :], exact.rows)) / scale
    # terms of about a hundred times a sixth cumulant cancel in it
    assert error.max() < (1e-12 if dtype == "float64" else 1.2e-5)


@pytest.mark.parametrize("need", [None, *HIGHER])
def test_many_programs_are_joined_on_the_device(monkeypatch: pytest.MonkeyPatch, need: str | None) -> None:
    """Of few labels the host joins what the programs found; here the kernel for many does it."""
    pytest.importorskip("triton")
    from scorebars.engines import triton_sums

    if not GPU:
        monkeypatch.setattr(triton_sums, "processors", lambda device: 1)
        monkeypatch.setattr(triton_sums, "_PROGRAMS_PER_PROCESSOR", 2)
    columns = draw(2003)
    rows = () if need is None else higher_rows(need, normal_sums(**columns, labels=True))
    assert rows is not None
    found = []
    for few in (triton_sums._FEW_BLOCKS, 0):
        monkeypatch.setattr(triton_sums, "_FEW_BLOCKS", few)
        triton_sums._plan.cache_clear()
        found.append(triton_sums.triton_sums(*tensors(columns), 0.5, 3.0, *rows))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-11)


@pytest.mark.parametrize("need", HIGHER)
def test_higher_sums_of_array_libraries(to: To, need: str) -> None:
    columns = draw(5003)
    sums = normal_sums(**columns, labels=True)
    exact = higher_sums(**columns, need=need, of=sums)
    assert exact is not None
    found = array_sums(*map(to, columns.values()), None, sums.y_shift, *higher_rows(need, sums))
    np.testing.assert_allclose(found[len(NAMES) :], exact.rows, rtol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_array_libraries(to: To, weighted: bool) -> None:
    columns = draw(300_000) | ({} if weighted else {"weight": None})
    exact = normal_sums(**columns, tolerance=0.5, labels=True)
    agree(
        array_sums(*(None if column is None else to(column) for column in columns.values()), 0.5, exact.y_shift), exact
    )


def test_many_chunks(to: To, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorebars.engines.array_sums._CHUNK", 1000)
    columns = draw(4321)
    agree(array_sums(*map(to, columns.values())), normal_sums(**columns))


def test_one_error_for_all(engine: Any) -> None:
    columns = draw(1000) | {"sigma": np.array(0.3), "weight": None}
    agree(engine(*tensors(columns)), normal_sums(columns["y"], columns["p"], 0.3))


def test_exact_labels(engine: Any) -> None:
    """sigma = 0: nothing moves, not even a label exactly on the edge of the tolerance."""
    y, p = np.zeros(4), np.array([0.0, 0.5, -0.5, 2.0])
    found = dict(zip(NAMES, engine(*tensors({"y": y, "p": p, "s": np.zeros(4), "w": None}), 0.5), strict=True))
    assert (found["fold"], found["foldvar_w2"], found["var"]) == (0, 0, 0)
    assert (found["within"], found["within_p"], found["within_var_w2"]) == (3, 3, 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_strides_do_not_matter(engine: Any, dtype: str) -> None:
    table = torch.stack(tensors(draw(3000) | {"weight": np.ones(3000)}), dim=1).to(getattr(torch, dtype))
    y, p, sigma, _ = table.T
    assert y.stride(0) == 4
    rel = 1e-14 if dtype == "float64" else 1e-7  # which neighbours are added in float32 depends on the strides
    for part in (slice(None), slice(None, None, 2)):
        strided = [column[part] for column in (y, p, sigma)]
        adjacent = [column.contiguous() for column in strided]
        assert engine(*strided, None) == pytest.approx(engine(*adjacent, None), rel=rel)


@pytest.mark.parametrize("n", [17, 5003])
def test_float32(engine: Any, n: int) -> None:
    """Each label's part has a relative error of a few 1e-7 at most; which labels are within a tolerance is exact."""
    columns = {name: column.astype(np.float32) for name, column in draw(n).items()}
    for data in (columns, columns | {"weight": None}):
        exact = normal_sums(**data, tolerance=0.5, labels=True)
        found = engine(*tensors(data), 0.5, exact.y_shift)
        agree(found, exact, rtol=1e-6)
        assert found[NAMES.index("within")] == pytest.approx(
            exact.within, rel=1e-15 if data["weight"] is None else 1e-6
        )


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_float32_whose_fourth_powers_leave_the_range(engine: Any, unit: float) -> None:
    columns = {name: (column * unit).astype(np.float32) for name, column in draw(500).items()} | {"weight": None}
    agree(engine(*tensors(columns)), normal_sums(**columns))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "bfloat16", "bool"])
def test_other_number_types(engine: Any, dtype: str) -> None:
    y, p = (torch.arange(200) % 7).to(getattr(torch, dtype)), (torch.arange(200) % 5).to(getattr(torch, dtype))
    plain = {"y": y.double().numpy(), "p": p.double().numpy(), "sigma": np.full(200, 0.5), "weight": None}
    device = "cuda" if GPU else "cpu"
    found = engine(y.to(device), p.to(device), torch.full((200,), 0.5, device=device), None)
    agree(found, normal_sums(**plain))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("column", ["y", "p", "sigma", "weight"])
def test_a_value_that_is_not_finite_shows_in_the_sums(engine: Any, column: str, value: float) -> None:
    columns = draw(100)
    columns[column][42] = value
    assert not np.isfinite(sum(engine(*tensors(columns))))


def test_negative_errors_and_weights_show_in_the_smallest(engine: Any) -> None:
    columns = draw(100)
    columns["sigma"][3], columns["weight"][4] = -0.5, -0.25
    found = dict(zip(NAMES, engine(*tensors(columns)), strict=True))
    assert (found["min_sigma"], found["min_weight"]) == (-0.5, -0.25)


def test_coefficients_are_those_of_the_compiled_kernel() -> None:
    source = (ROOT / "src/scorebars/engines/_normal.h").read_text()
    for name in ("FOLD_ROOT", "TAIL_TOP", "TAIL_BOTTOM"):
        found = re.search(rf"static const double {name}\[\d+\] = {{(.*?)}};", source, re.S)
        assert found is not None
        assert tuple(map(float.fromhex, re.findall(r"-?0x[^,\s]+", found.group(1)))) == getattr(coefficients, name)


def test_coefficients_for_float32() -> None:
    from scorebars.numerics import special

    z = np.linspace(0, 6, 5000)
    top, bottom = (np.polynomial.Polynomial(c) for c in (coefficients.SINGLE_FOLD_TOP, coefficients.SINGLE_FOLD_BOTTOM))
    assert np.max(np.abs(np.exp(-z * z / 2) * top(z) / bottom(z) - special.g(z))) < 1.3e-8


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("error", ["each", "one"])
@pytest.mark.parametrize("kind", ["SQUARES", "RATIO", "FOLDED"])
def test_bins_of_the_kernel_are_those_of_torch(
    kind: str, error: str, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton")
    from scorebars.engines import bins, device_bins, triton_bins
    from scorebars.engines.on_device import DeviceColumns

    if not GPU:
        monkeypatch.setattr(triton_bins, "processors", lambda device: 1)
        monkeypatch.setattr(triton_bins, "_PROGRAMS_PER_PROCESSOR", 2)
    columns = DeviceColumns(*tensors(draw(3001) | ({} if weighted else {"weight": None})))
    sigma = columns.sigma.clone()
    sigma[::50] = 0.0
    columns = columns._replace(
        sigma=sigma if error == "each" else torch.tensor(0.3, dtype=torch.float64, device=sigma.device)
    )
    which = getattr(bins, kind)
    found, exact = device_bins._by_triton(columns, which, 0.1), device_bins._by_torch(columns, which, 0.1)
    assert found is not None
    for ours, theirs in ((found.certain, exact.certain), (found.totals, exact.totals)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12 * float(np.max(np.abs(theirs), initial=0.0)))
    close = 1e-6 if kind == "FOLDED" else 1e-9  # the label at the edge of the largest lies in a wider bin there
    for function in (np.ones_like, np.sqrt, np.log):  # sums over labels of smooth functions of v
        ours, theirs = ((columns * function(v)).sum(axis=1) for v, columns in (found.bins.nodes(), exact.bins.nodes()))
        np.testing.assert_allclose(ours, theirs, rtol=close, atol=close * np.max(np.abs(theirs)))
    count = found.bins.moments[:, 0, 0].sum() + found.bins.top_v.size + found.certain[0]
    assert count == pytest.approx(3001)
