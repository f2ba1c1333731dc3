"""Which method predicts logP best? SAMPL6 (105 methods, 11 molecules) and SAMPL7 (36 methods, 22 molecules).

Label errors are small here; the small number of molecules is what limits the ranking.
"""

import scorebars as sb


def main() -> dict[str, tuple[sb.Ranking, sb.Ranking]]:
    found = {}
    for name, load in (("SAMPL6", sb.datasets.load_sampl6_logp), ("SAMPL7", sb.datasets.load_sampl7_logp)):
        data = load()
        rankings = []
        for sampling in (False, True):
            comparison = sb.compare(data.y, data.predictions, yerr=data.yerr, sampling=sampling)
            rankings.append(comparison.ranking(4000))
        print(f"{name} logP: {len(data.predictions)} methods on {data.n} molecules, mean squared error")
        print(f"{'method':>42}  {'P(best), labels':>16}  {'P(best), molecules':>19}  {'expected rank':>13}")
        for method in rankings[1].order()[:6]:
            first, second = (r.probabilities[method][0] for r in rankings)
            print(f"{method:>42}  {first:16.3f}  {second:19.3f}  {rankings[1].expected_rank(method):13.1f}")
        print(f"These molecules: {rankings[0].statement}")
        print(f"Any molecules like these: {rankings[1].statement}\n")
        found[name] = (rankings[0], rankings[1])
    repeats = sb.Repeats(sb.datasets.load_sampl6_logp().columns["replicates"])
    print(f"SAMPL6 repeats: {repeats!r}, reliability of a single one {repeats.reliability:.3f}")
    return found


if __name__ == "__main__":
    main()
