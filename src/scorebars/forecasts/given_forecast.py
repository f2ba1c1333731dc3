"""Forecasts as users have them in hand, made a `Forecast`."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorebars import tables
from scorebars.arrays import has_unit, to_host
from scorebars.forecasts.ensemble_forecast import EnsembleForecast
from scorebars.forecasts.forecast import Forecast
from scorebars.forecasts.law_forecast import LawForecast
from scorebars.forecasts.normal_forecast import NormalForecast

ForecastLike = Any
"""What metrics take as a forecast: see `forecast_of`."""
_MEMBER_NAMES = (
    "member",
    "members",
    "ensemble",
    "ensemble_member",
    "realization",
    "realisation",
    "number",
    "sample",
    "draw",
)
"""What the dimension of the members is called in files of weather, climate and posterior draws."""
_ONLY_MEMBERS = tuple(name for name in _MEMBER_NAMES if name not in ("sample", "number"))
"""Names that no dimension of labels has."""
_TAKES = (
    "A forecast is a NormalForecast, EnsembleForecast, QuantileForecast or LawForecast, the pair (mean, std) of "
    "predict(X, return_std=True), an (n, m) array or table of members, a frozen distribution of scipy.stats, or a Normal of "
    "torch.distributions."
)


def forecast_of(given: Any, n: int | None = None, argument: str = "forecast", claims: str = "truth") -> Forecast:
    """What the user has as a `Forecast` of n labels.

    Taken are a `Forecast`; the pair (mean, std); an (n, m) array, table or xarray of members; a frozen distribution of
    scipy.stats, or a list of n of them; a Normal of torch.distributions.

    >>> import numpy as np
    >>> forecast_of((np.zeros(3), np.ones(3)))
    NormalForecast(<3 labels>)
    """
    if isinstance(given, Forecast):
        found: Forecast = given
    elif given is None:
        raise ValueError(f"{argument} is missing. {_TAKES}")
    elif _is_frozen(given) or (isinstance(given, list | tuple) and len(given) > 0 and all(map(_is_frozen, given))):
        found = _from_frozen(given, n, claims)
    elif hasattr(given, "log_prob"):  # torch.distributions
        found = NormalForecast(*_torch_normal(given, argument), claims=claims)
    elif isinstance(given, tuple):
        if len(given) != 2:
            raise ValueError(f"{argument} is a tuple of {len(given)}, but (mean, std) has 2. {_TAKES}")
        tables.require_rows(**{f"{argument} (mean)": given[0], f"{argument} (std)": given[1]})
        found = NormalForecast(*map(_numbers, given), claims=claims)
    else:
        found = EnsembleForecast(_members(given, n, argument), claims=claims)
    if n is not None:
        found.require_size(n, argument)
    return found


def is_forecast(given: Any) -> bool:
    """Whether this can only be meant as a forecast: a `Forecast`, (mean, std), a distribution of a library, named members."""
    dims = getattr(given, "dims", ())
    if len(dims) > 1 and hasattr(given, "coords") and any(str(dim).lower() in _ONLY_MEMBERS for dim in dims):
        return True
    if isinstance(given, Forecast) or _is_frozen(given) or hasattr(given, "log_prob"):
        return True
    if isinstance(given, tuple) and len(given) == 2:
        return all(np.ndim(part) == 1 for part in given) or (np.ndim(given[0]) == 1 and np.ndim(given[1]) == 0)
    return isinstance(given, list) and len(given) > 0 and all(map(_is_frozen, given))


def _is_frozen(given: Any) -> bool:
    return all(hasattr(given, name) for name in ("dist", "args", "kwds", "ppf"))


def _from_frozen(given: Any, n: int | None, claims: str) -> Forecast:
    """A normal distribution as a NormalForecast, which has closed forms."""
    found = LawForecast(given, n, claims=claims)
    if found._family.name == "norm":
        return NormalForecast(*found._rows.T, claims=claims)
    return found


def _torch_normal(given: Any, argument: str) -> tuple[Any, Any]:
    if type(given).__name__ == "Independent":  # says only which axes belong to one draw
        return _torch_normal(given.base_dist, argument)
    if type(given).__name__ != "Normal":
        raise ValueError(
            f"{argument} is a {type(given).__name__} of {type(given).__module__.partition('.')[0]}.distributions, of which "
            "only Normal is known. Give draws from it: EnsembleForecast(distribution.sample((m,)).T)."
        )
    mean, std = (np.asarray(to_host(part), dtype=np.float64) for part in (given.loc, given.scale))
    return tuple(part[:, 0] if part.ndim == 2 and part.shape[1] == 1 else part for part in (mean, std))  # type: ignore[return-value]


def _numbers(values: Any) -> Any:
    """A pandas, polars or xarray column as an array; quantities keep their unit."""
    return values if has_unit(values) else np.asarray(to_host(values))


def _members(given: Any, n: int | None, argument: str) -> Any:
    if hasattr(given, "dims") and hasattr(given, "transpose") and hasattr(given, "coords"):
        return _from_xarray(given, argument)
    tables.require_rows(**{argument: given})
    if hasattr(given, "magnitude") and hasattr(given, "units"):
        raise ValueError(
            f"{argument} is a quantity of another library than astropy. Give its numbers in the unit of the labels, "
            f"{argument}.to(unit).magnitude."
        )
    values = (
        given if has_unit(given) else given.to_numpy() if hasattr(given, "to_numpy") else np.asarray(to_host(given))
    )
    shape = np.shape(values)
    if len(shape) == 1:
        raise ValueError(
            f"{argument} has shape {shape}: one number for each label is a prediction without a spread, not a forecast. "
            + _TAKES
        )
    if len(shape) != 2:
        raise ValueError(f"{argument} has shape {shape}, but members have one row for each label, (n, m). {_TAKES}")
    if n is not None and shape[0] != n and shape[1] == n:
        raise ValueError(
            f"{argument} has shape {shape} for {n} labels: members have one row for each label, (n, m). Pass {argument}.T."
        )
    return values


def _from_xarray(given: Any, argument: str) -> Any:
    """The members along the last axis, all other dimensions in one row."""
    member = member_dimension(given, argument)
    rest = [dim for dim in given.dims if dim != member]
    values = np.asarray(given.transpose(*rest, member).data)
    return values.reshape(-1, values.shape[-1])


def member_dimension(given: Any, argument: str) -> Any:
    """Which dimension of an xarray counts the members."""
    names = [dim for dim in given.dims if str(dim).lower() in _MEMBER_NAMES]
    if len(names) != 1:
        raise ValueError(
            f"{argument} has the dimensions {', '.join(map(repr, given.dims))}: which one counts the members is not clear. "
            f"Rename it: {argument}.rename({{name: 'member'}})."
        )
    return names[0]
