"""The higher sums, behind the cumulants of a metric, against their definitions."""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from plain_sums import DIGITS

from label_draws import draw
from scorebars.engines.engine import Changed, compiled, higher_rows, higher_sums, normal_sums
from scorebars.engines.sums import HIGHER, ORDERS, NormalSums


@cache
def folded_cumulants(z: float) -> list[Any]:
    """Cumulants of |Z + z| from raw moments that are integrals, with 20 digits."""
    with mp.workdps(20):
        places = [0, z, z + 4, z + 11] if z > 0 else [0, 4, 11]
        raw = [
            mp.quad(lambda x, r=r: x**r * (mp.npdf(x - z) + mp.npdf(x + z)), places, maxdegree=5)
            for r in range(ORDERS[-1] + 1)
        ]
        found = [mp.mpf(0)] * len(raw)
        for r in range(1, len(raw)):
            found[r] = raw[r] - sum(mp.binomial(r - 1, j - 1) * found[j] * raw[r - j] for j in range(1, r))
    return found


def defined(data: dict[str, Any], need: str, shift: float, unit: float, weight_unit: float) -> list[Any]:
    """The rows by their definitions, with 40 digits."""
    weight = np.ones(len(data["y"])) if data["weight"] is None else data["weight"]
    rows = [mp.mpf(0)] * len(HIGHER[need])
    with mp.workdps(DIGITS):
        for label in zip(data["y"], data["p"], data["sigma"], weight, strict=True):
            y, p, s, w = (mp.mpf(float(x)) for x in label)
            d, c, s, w = (p - y) / unit, (y - mp.mpf(shift)) / unit, s / unit, w / weight_unit
            u, terms = w * s**2, []
            for r in ORDERS:
                if need == "absolute":
                    terms += [(w * s) ** r, (w * s) ** r * folded_cumulants(float(abs(d) / s))[r] if s else mp.mpf(0)]
                else:
                    t = u ** (r - 1) * w
                    more = [t, t * d, t * c, t * c * d, t * c**2] if need == "ratio" else []
                    terms += [u**r, t * d**2, *more]
            terms += [w * s] if need == "absolute" else []
            rows = [row + term for row, term in zip(rows, terms, strict=True)]
    return rows


@pytest.mark.parametrize("size", [1.0, 1e5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("need", HIGHER)
def test_rows_are_what_they_are_defined_to_be(engine: str, need: str, weighted: bool, size: float) -> None:
    data = draw(9 if need == "absolute" else 600)
    data = {
        "y": data["y"] * size,
        "p": data["p"] * size,
        "sigma": data["sigma"] * size,
        "weight": data["weight"] * size,
    }
    data |= {} if weighted else {"weight": None}
    sums = normal_sums(**data, labels=True)
    asked, found = higher_rows(need, sums), higher_sums(**data, need=need, of=sums)
    assert asked is not None and found is not None
    assert (asked.per_unit < 1.0) == (size > 1) and (asked.per_weight < 1.0 or not weighted or size == 1)
    exact = defined(data, need, sums.y_shift, 1.0 / asked.per_unit, 1.0 / asked.per_weight)
    sizes = [float(abs(x)) for x in exact]
    for k, (row, value) in enumerate(zip(found.rows, exact, strict=True)):
        # rows of either sign are measured by the largest of their order
        order = sizes[k // (len(sizes) // 4) * (len(sizes) // 4) :][: len(sizes) // 4] or sizes[-1:]
        assert abs(row - value) <= 1e-13 * max(order), (k, HIGHER[need][k])
    # the other sums are in the same units
    assert found.sums.var == pytest.approx(sums.var * asked.per_unit**2 * asked.per_weight, rel=1e-15)
    assert found.sums.sqvar_w2 == pytest.approx(sums.sqvar_w2 * asked.per_unit**4 * asked.per_weight**2, rel=1e-15)
    assert found.power == -round(np.log2(asked.per_unit))


@pytest.mark.parametrize("need", HIGHER)
def test_chunks_and_threads_do_not_matter(engine: str, need: str) -> None:
    data = draw(300_000)
    sums = normal_sums(**data, labels=True)
    whole = higher_sums(**data, need=need, of=sums)
    assert whole is not None
    part = {name: column[:1000] for name, column in data.items()}
    few = higher_sums(**part, need=need, of=normal_sums(**part, labels=True, about=sums.y_shift))
    assert few is not None and len(few.rows) == len(whole.rows) == len(HIGHER[need])
    strided = {name: np.repeat(column, 2)[::2] for name, column in data.items()}
    again = higher_sums(**strided, need=need, of=sums)
    assert again is not None and again.rows == whole.rows and again.sums.sqvar_w2 == whole.sums.sqvar_w2


def test_engines_agree() -> None:
    if compiled("_kernel").module is None:
        pytest.skip("no kernel")
    data = draw(5000)
    for need in HIGHER:
        found = []
        for name in ("kernel", "numpy"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("SCOREBARS_ENGINE", name)
                sums = normal_sums(**data, labels=True)
                higher = higher_sums(**data, need=need, of=sums)
                assert higher is not None
                found.append(higher.rows)
        np.testing.assert_allclose(found[0], found[1], rtol=1e-11)


def test_changed_arrays_are_noticed(engine: str) -> None:
    data = draw(1000)
    sums = normal_sums(**data)
    data["sigma"][3] += 0.5
    with pytest.raises(Changed):
        higher_sums(**data, need="squares", of=sums)


@pytest.mark.parametrize("change", [{"max_sigma": 0.0}, {"max_sigma": 1e30}, {"max_weight": 1e30}])
def test_extreme_sizes_are_refused(change: dict[str, float]) -> None:
    sums: NormalSums = normal_sums(**draw(100))
    assert higher_rows("squares", sums) is not None
    assert higher_rows("squares", sums._replace(**change)) is None


@pytest.mark.skipif(compiled("_kernel").module is None, reason="no kernel")
def test_the_kernel_checks_what_is_asked() -> None:
    sums, y = compiled("_kernel").module.chunk_sums, np.zeros(3)
    for kind in (-1.0, 4.0, np.nan):
        with pytest.raises(ValueError, match="kind 0 to 3"):
            sums(y, y, 1.0, None, None, None, kind, 1.0, 1.0)
    with pytest.raises(ValueError, match="need a reference"):
        sums(y, y, 1.0, None, None, None, 2, 1.0, 1.0)
    with pytest.raises(TypeError, match="chunk_sums"):
        sums(y, y, 1.0, None, None, None, 1)
    with pytest.raises(TypeError):
        sums(y, y, 1.0, None, None, None, 1, "one", 1.0)
