"""What a user writes, for a type checker: the first lines of the README, and the calls that give several scores."""

from typing import assert_type

import scorebars as sb

masses = sb.datasets.load_nuclear_masses()
rmse = sb.root_mean_squared_error(masses.y, masses.predictions["FRDM2012"], yerr=masses.yerr)
assert_type(rmse, sb.Score)
print(f"{rmse.observed:.4f}", rmse, rmse.truth, rmse.perfect)
low, high = rmse.interval(0.95)
assert_type(low, float)
assert_type(rmse.truth, sb.Estimate)

assert_type(sb.mean_absolute_error([1.0, 2.0], [1.1, 2.1], yerr=[0.1, 0.2], sample_weight=[1, 2]), sb.Score)
outputs = [[1.0, 2.0], [3.0, 4.0]]
assert_type(sb.r2_score(outputs, outputs, multioutput="raw_values"), sb.Scores)
assert_type(sb.mean_squared_error(outputs, outputs, multioutput=[0.3, 0.7]), sb.Score)

assert_type(sb.f1_score(["a", "b"], ["a", "a"], yerr=sb.Flip(0.05), pos_label="a"), sb.Score)
assert_type(sb.f1_score([0, 1], [1, 1], average=None), sb.Scores)
assert_type(sb.accuracy_score([0, 1], [1, 1], yerr=0.1), sb.Score)

table = sb.evaluate(masses.y, masses.predictions, yerr=masses.yerr)
assert_type(table, sb.Evaluation)
assert_type(table["FRDM2012", "mean_absolute_error"].std, float)
