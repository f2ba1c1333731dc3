"""Tables as visitors drop them: one for each answer to the question about errors, with the arrays behind it."""

import io

import numpy as np

rng = np.random.default_rng(3)
N = 24
TRUTH = rng.normal(5.0, 2.0, N)
Y = np.round(TRUTH + 0.3 * rng.standard_normal(N), 3)
SIGMA = np.round(rng.uniform(0.1, 0.4, N), 3)
A = np.round(TRUTH + 0.5 * rng.standard_normal(N), 3)
B = np.round(TRUTH + 0.8 * rng.standard_normal(N), 3)
REPEATS = np.round(TRUTH[:, None] + 0.3 * rng.standard_normal((N, 3)), 3)
SITE = np.array(["north", "south", "east"])[np.arange(N) % 3]
CLASS = np.where(rng.random(N) < 0.5, "cat", "dog")
GUESS = np.where(rng.random(N) < 0.8, CLASS, np.where(CLASS == "cat", "dog", "cat"))
OTHER = np.where(rng.random(N) < 0.6, CLASS, "cat")
VOTES = np.where((CLASS == "cat")[:, None], [4, 1], [1, 4]) + rng.integers(0, 2, (N, 2))
COVARIANCE = np.diag(SIGMA**2) + 0.01

NUMBERS = {"y": Y, "err": SIGMA, "err_2": SIGMA / 2, "lo": SIGMA, "hi": 2 * SIGMA, "pct": 10 * SIGMA}
NUMBERS |= {"low_end": np.round(Y - SIGMA, 4), "high_end": np.round(Y + 2 * SIGMA, 4)}
NUMBERS |= {f"m_{k + 1}": REPEATS[:, k] for k in range(3)}
NUMBERS |= {"pred_a": A, "pred_b": B, "site": SITE}
CELLS = {"y": [f"{y:.3f} ± {s:.3f}" for y, s in zip(Y, SIGMA, strict=True)], "pred_a": A, "pred_b": B}
CLASSES = {"label": CLASS, "q": np.round(SIGMA / 4, 4), "votes_cat": VOTES[:, 0], "votes_dog": VOTES[:, 1]}
CLASSES |= {"p_cat": np.round(VOTES[:, 0] / VOTES.sum(axis=1), 6), "pred_net": GUESS, "pred_tree": OTHER}
CLASSES["p_dog"] = np.round(1 - CLASSES["p_cat"], 6)


def csv_bytes(table):
    rows = zip(*table.values(), strict=True)
    return ("\n".join([",".join(table), *(",".join(map(str, row)) for row in rows)]) + "\n").encode()


def rows_of_repeats():
    """The same with repeats in rows."""
    lines = ["item,y,pred_a"]
    for k in range(N):
        lines += [f"i{k},{value},{A[k]}" for value in REPEATS[k]]
    return ("\n".join(lines) + "\n").encode()


def matrix_bytes():
    sink = io.StringIO()
    np.savetxt(sink, COVARIANCE)
    return sink.getvalue().encode()


def roles(table, **used):
    """The selects beside the columns, as the browser sends them."""
    return {f"role.{name}": used.get(name, "") for name in table}
