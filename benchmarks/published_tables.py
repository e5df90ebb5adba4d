"""Published tables, cell by cell, and what papers on click models of lists say about who is better.

* Kveton, Szepesvari, Wen, Ashkan, "Cascading Bandits" (ICML 2015), Tables 1 and 2: CascadeUCB1 and CascadeKL-UCB on L
  items, K positions, attraction 0.2 of the K best and a gap below for all others; 100,000 lists, 20 runs. Table 1
  shows the best item first, Table 2 last.
* Cheung, Tan, Zhong, "A Thompson Sampling Algorithm for Cascading Bandits" (AISTATS 2019), supplement, Table 3: the
  same and TS-Cascade up to L = 256. It prints standard deviations of 20 runs.

Both papers give every item one free look before the first list, which their regret does not count; ours does, about L
/ K lists. Kveton et al. count realised clicks, whose mean is the same and whose spread is larger.

Katariya, Kveton, Szepesvari, Vernade, Wen, "Stochastic Rank-1 Bandits" (AISTATS 2017), Table 1: the regret of
Rank1Elim, the predecessor of the paper's algorithm, on spike problems after 2,000,000 decisions; 20 runs. Three columns
of nine settings: sizes (p = 0.7, gap = 0.2), base rates of rows and columns (8 x 8, gap 0.2), and gaps of rows and
columns (8 x 8, p = 0.7).

``python -m benchmarks.published_tables cascading`` (or `rank1elim`) plays every cell and judges it; ``--quick`` plays
fewer runs. Stop it and start it again: it continues in its directory.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rankone.cli._progress import progress_bar
from rankone.cli.study.reproduce import show_reproduction
from rankone.paper.claims import Claim, Reproduction
from rankone.paper.protocol import Played, Protocol
from rankone.problems import RankOne, needle
from rankone.problems.lists import DCM, PBM
from rankone.simulation import Study
from rankone.specs import value_text

#: Standard errors, of both figures together, within which two figures agree.
AGREE = 3.0


@dataclass(frozen=True)
class Cell:
    """A figure of a published table: which problem and policy it is about, and the mean ± standard error printed."""

    table: str
    problem: str
    policy: str
    mean: float
    se: float


def compare(cells: Sequence[Cell], studies: Sequence[Study]) -> pl.DataFrame:
    """Return a row per cell: printed, measured, their difference in combined standard errors, and the verdict."""
    measured = {
        (row["problem"], row["policy"]): row for study in studies for row in study.summary().iter_rows(named=True)
    }
    rows = []
    for cell in cells:
        mean, se = (measured[cell.problem, cell.policy][name] for name in ("regret_mean", "regret_se"))
        apart = (mean - cell.mean) / math.hypot(cell.se, se or 0.0)
        verdict = "agrees" if abs(apart) <= AGREE else "differs"
        rows.append((*dataclasses.astuple(cell), mean, se, mean / cell.mean, apart, verdict))
    columns = ["table", "problem", "policy", "published", "its se", "measured", "± se", "ratio", "standard errors"]
    return pl.DataFrame(rows, [*columns, "verdict"], orient="row")


def judge_tables(compared: pl.DataFrame, titles: Mapping[str, str]) -> list[Claim]:
    """Judge each table as a whole, policy by policy: do all of its figures agree?"""
    claims = []
    reading = f"every figure within {AGREE:g} combined standard errors"
    for (table, policy), cells in compared.group_by("table", "policy", maintain_order=True):
        agree, ratios = cells.filter(pl.col("verdict") == "agrees").height, cells["ratio"].to_list()
        spread = f"{agree} of {cells.height} agree; measured / published {min(ratios):.2f} to {max(ratios):.2f}"
        claims.append(Claim(f"{titles[str(table)]}: {policy}", reading, spread, agree == cells.height))
    return claims


HORIZON, RUNS = 100_000, 20
UCB1, KL, GAUSS = "cascade-ucb1", "cascade-kl-ucb:c=3", "cascade-ts-gauss"
UPSIDE_DOWN = {UCB1: f"{UCB1}:order=worst-first", KL: f"{KL},order=worst-first"}
TITLES = {"1": "Kveton et al. 2015, Table 1", "2": "Kveton et al. 2015, Table 2", "3": "Cheung et al. 2019, Table 3"}

# L, K, gap: UCB1 and KL-UCB of Table 1, then of Table 2; mean and standard error.
KVETON = """
16 2 .15   1290.1 11.3  357.9  5.5   1160.2 11.7  333.3  6.1
16 4 .15    986.8 10.8  275.1  5.8    660.0  8.3  209.4  4.4
16 8 .15    574.8  7.9  149.1  3.2    181.4  3.9   60.4  2.0
32 2 .15   2695.9 19.8  761.2 10.4   2471.6 14.1  716.0  7.5
32 4 .15   2256.8 12.8  633.2  7.0   1615.3 14.5  482.3  6.7
32 8 .15   1581.0 20.3  435.4  5.7    595.0  7.8  201.9  5.8
16 2 .075  2077.0 32.9  766.0 18.0   1989.8 31.4  785.8 12.2
16 4 .075  1520.4 23.4  538.5 12.5   1239.5 16.2  484.2 12.5
16 8 .075   725.4 12.0  321.0 16.3    336.4 10.3  139.7  6.6
"""
# L, K, gap: TS-Cascade, KL-UCB, UCB1; mean and standard deviation.
CHEUNG = """
16 2 .15    377.07 11.67    359.35 26.42   1277.42 25.88
16 4 .15    294.55 15.08    265.90 20.36    990.51 31.72
16 8 .15    138.85 9.81     148.36 12.35    555.83 14.41
16 2 .075   691.60 58.39    736.08 56.36   2028.56 71.56
16 4 .075   546.46 40.78    526.93 52.76   1485.14 58.43
16 8 .075   252.74 20.52    261.76 33.86    713.43 46.93
32 2 .15    738.19 19.23    764.42 48.57   2711.44 58.41
32 4 .15    612.36 10.66    619.68 34.56   2237.77 43.70
32 8 .15    381.80 13.19    419.39 19.59   1526.97 24.48
32 2 .075  1159.00 63.43   1583.33 104.04  4217.87 129.08
32 4 .075  1062.90 80.06   1208.06 59.25   3301.44 85.43
32 8 .075   631.45 51.51    718.65 32.27   1890.06 47.80
64 2 .15   1400.97 45.61   1555.42 44.88   5408.46 83.34
64 4 .15   1194.26 21.69   1283.29 49.22   4609.41 84.20
64 8 .15    812.10 29.36    937.02 30.52   3307.08 43.78
64 2 .075  1810.43 126.74  3169.17 156.98  7599.58 199.99
64 4 .075  1730.13 128.09  2512.28 106.85  6437.43 239.96
64 8 .075  1175.07 46.91   1565.76 72.98   3962.35 87.61
128 2 .15  2520.03 74.04   3114.73 74.62  10677.30 193.72
128 4 .15  2216.26 50.54   2602.08 51.29   9163.15 126.39
128 8 .15  1591.75 32.73   1916.45 61.90   6589.88 67.56
128 2 .075 2784.44 185.08  6160.86 300.48 11055.68 156.27
128 4 .075 2837.25 239.41  5004.45 188.68 11516.47 227.48
128 8 .075 2004.58 122.26  3084.67 105.78  7432.14 129.24
256 2 .15  4386.43 315.68  6255.14 131.46 19088.19 318.55
256 4 .15  3998.61 107.35  5209.96 80.16  17287.79 221.64
256 8 .15  2934.38 53.36   3786.36 66.26  12519.56 125.97
256 2 .075 4128.96 400.88 10426.63 249.33 12191.23 39.69
256 4 .075 4376.73 373.99  9389.72 251.50 15748.08 131.08
256 8 .075 3258.24 238.91  6019.24 145.95 12417.86 160.53
"""


def published_cascades() -> list[Cell]:
    """Return the figures of all three tables."""
    cells = []
    for problem, figures in _lines(KVETON):
        policies = (UCB1, KL, UPSIDE_DOWN[UCB1], UPSIDE_DOWN[KL])
        for index, (policy, table) in enumerate(zip(policies, "1122", strict=True)):
            cells.append(Cell(table, problem, policy, figures[2 * index], figures[2 * index + 1]))
    for problem, figures in _lines(CHEUNG):
        for index, policy in enumerate((GAUSS, KL, UCB1)):
            cells.append(Cell("3", problem, policy, figures[2 * index], figures[2 * index + 1] / math.sqrt(RUNS)))
    return sorted(cells, key=lambda cell: cell.table)


def _lines(text: str) -> list[tuple[str, list[float]]]:
    result = []
    for line in text.strip().splitlines():
        items, positions, gap, *figures = line.split()
        settings = "" if float(gap) == 0.15 else f":gap={value_text(float(gap))}"
        result.append((f"cascade:{items}x{positions}{settings}", [float(figure) for figure in figures]))
    return result


def cascading(protocol: Protocol) -> Reproduction:
    """Play every cell of the tables and judge it; quick: 4 runs of problems with up to 32 items."""
    cells = published_cascades()
    if protocol.quick:
        cells = [cell for cell in cells if int(cell.problem.split(":")[1].split("x")[0]) <= 32]
    policies = {
        cell.problem: dict.fromkeys(one.policy for one in cells if one.problem == cell.problem) for cell in cells
    }
    plan = [Played([problem], list(own), HORIZON, _folder(problem)) for problem, own in policies.items()]
    played = protocol.play([*plan, *_other_papers()], runs=4 if protocol.quick else RUNS)
    studies, orderings = played[: len(plan)], played[len(plan) :]
    compared = compare(cells, studies)
    claims = [*judge_tables(compared, TITLES), *_claims(compared), *_judge_orderings(orderings)]
    drawn = [study for study in studies if study.problems[0].name in ("cascade:16x4", "cascade:32x8")]
    charts = {f"cascading-{study.problems[0].name.split(':')[1]}": study.chart() for study in drawn}
    summaries = pl.concat([study.summary() for study in orderings])
    return Reproduction({"cells": compared, "orderings": summaries}, claims, charts)


def _folder(problem: str) -> str:
    return f"runs/{problem.replace(':', '-')}"


def _claims(compared: pl.DataFrame) -> list[Claim]:
    """Judge what Kveton et al. read off their tables."""
    mean = {(row["problem"], row["policy"]): row["measured"] for row in compared.iter_rows(named=True)}
    problems = compared.filter(pl.col("table") == "1")["problem"].unique(maintain_order=True).to_list()
    kl = [mean[problem, KL] / mean[problem, UCB1] for problem in problems]
    turned = [mean[problem, UPSIDE_DOWN[KL]] / mean[problem, KL] for problem in problems if not problem.endswith("x2")]
    wider = [mean[f"cascade:32x{k}", KL] / mean[f"cascade:16x{k}", KL] for k in (2, 4, 8)]
    longer = [mean[f"cascade:{n}x{k}", KL] / mean[f"cascade:{n}x{k // 2}", KL] for n in (16, 32) for k in (4, 8)]
    reading, first = "section 5.1, CascadeKL-UCB with c = 3", "showing the worst of the best items first lowers regret"
    rows = [
        ("CascadeKL-UCB has less regret than CascadeUCB1", "Table 1", "KL / UCB1", kl, 0.0, 1.0),
        ("regret grows with the number of items", reading, "32 / 16 items", wider, 1.0, math.inf),
        ("regret falls with the length of the list", reading, "2K / K", longer, 0.0, 1.0),
        (first, "section 5.3, K > 2", "Table 2 / Table 1", turned, 0.0, 1.0),
    ]
    return [Claim.within(*row) for row in rows]


def _other_papers() -> list[Played]:
    """Return what other papers play."""
    figure_3a = DCM([0.2] * 4 + [0.05] * 12, [0.5] * 4, name="Katariya 2016 figure 3a")
    lagree = PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3], name="Lagree 2016 5x3")
    attraction, examination = [0.1, 0.08, 0.06, 0.04, 0.02, *[1e-4] * 5], [1.0, 0.9, 0.83, 0.78, 0.75]
    simul = PBM(attraction, examination, name="UniRank 2022 Simul")
    return [
        Played([figure_3a], ["dcm-kl-ucb:c=3", "cascade-kl-ucb:c=3,until=first"], HORIZON, _folder(figure_3a.name)),
        Played([lagree], ["pbm-ts", "pbm-pie", "pbm-ucb", "bc-ts"], 10_000, _folder(lagree.name)),
        Played([simul], ["gibbs-ts", "pb-mhb", "unirank", "toprank", "grab"], HORIZON, _folder(simul.name)),
    ]


def _judge_orderings(studies: list[Study]) -> list[Claim]:
    """Judge who has less regret: of each claim, policies in the order that a paper gives them."""
    mean = {row["policy"]: row["regret_mean"] for study in studies for row in study.summary().iter_rows(named=True)}
    katariya, lagree = "Katariya et al. 2016, figure 3a", "Lagree et al. 2016, figure 1"
    gauthier = "Gauthier et al. 2022, problem Simul, after 1e5 lists"
    orders = [
        ("dcmKL-UCB has less regret than learning to the first click", katariya, [["dcm-kl-ucb:c=3", KL]]),
        ("PBM-TS below PBM-PIE below PBM-UCB", lagree, [["pbm-ts", "pbm-pie", "pbm-ucb"]]),
        ("UniRank has less regret than TopRank and GRAB", gauthier, [["unirank", "toprank"], ["unirank", "grab"]]),
        ("PB-MHB has less regret than UniRank", gauthier, [["pb-mhb", "unirank"]]),
    ]
    return [
        Claim(
            claim,
            reading,
            ", ".join(f"{name} {mean[name]:.0f}" for name in dict.fromkeys(itertools.chain(*chains))),
            all(mean[less] < mean[more] for names in chains for less, more in itertools.pairwise(names)),
        )
        for claim, reading, chains in orders
    ]


SPIKE_TITLES = {"sizes": "sizes", "base rates": "base rates of rows and columns", "gaps": "gaps of rows and columns"}
# rows, columns, p of rows, p of columns, gap of rows, gap of columns, mean, standard error
SPIKES = """
8 8 .7 .7 .2 .2 17491 384
8 16 .7 .7 .2 .2 29628 1499
8 32 .7 .7 .2 .2 50030 1931
16 8 .7 .7 .2 .2 28862 585
16 16 .7 .7 .2 .2 41823 1689
16 32 .7 .7 .2 .2 62451 2268
32 8 .7 .7 .2 .2 46156 806
32 16 .7 .7 .2 .2 61992 2339
32 32 .7 .7 .2 .2 85208 3546
8 8 .7 .7 .2 .2 17744 466
8 8 .7 .35 .2 .2 23983 594
8 8 .7 .175 .2 .2 24776 2333
8 8 .35 .7 .2 .2 22963 205
8 8 .35 .35 .2 .2 38373 71
8 8 .35 .175 .2 .2 57401 68
8 8 .175 .7 .2 .2 27440 2011
8 8 .175 .35 .2 .2 57492 67
8 8 .175 .175 .2 .2 95586 99
8 8 .7 .7 .2 .2 17653 307
8 8 .7 .7 .2 .1 22891 912
8 8 .7 .7 .2 .05 30954 787
8 8 .7 .7 .1 .2 20958 614
8 8 .7 .7 .1 .1 33642 1089
8 8 .7 .7 .1 .05 45511 3257
8 8 .7 .7 .05 .2 30688 482
8 8 .7 .7 .05 .1 44390 2542
8 8 .7 .7 .05 .05 68412 2312
"""


def published_spikes() -> tuple[list[Cell], list[RankOne]]:
    """Return the figures of the table, and the problems they are about."""
    cells, problems = [], {}
    for index, line in enumerate(SPIKES.strip().splitlines()):
        rows, cols, *numbers = line.split()
        p_rows, p_cols, gap_rows, gap_cols, mean, se = map(float, numbers)
        problem = needle(int(rows), int(cols), p=(p_rows, p_cols), gap=(gap_rows, gap_cols))
        problems[problem.name] = problem
        cells.append(Cell(list(SPIKE_TITLES)[index // 9], problem.name, "rank1elim", mean, se))
    return cells, list(problems.values())


def rank1elim(protocol: Protocol) -> Reproduction:
    """Play every cell of the table and judge it; quick: 4 runs, the horizon stays the paper's."""
    cells, problems = published_spikes()
    compared = compare(
        cells, protocol.play([Played(problems, ["rank1elim"], 2_000_000)], runs=4 if protocol.quick else RUNS)
    )
    mean = {row["problem"]: row["measured"] for row in compared.iter_rows(named=True)}
    sizes = [mean[needle(size, size, p=0.7, gap=0.2).name] for size in (8, 16, 32)]
    growth = [later / earlier for earlier, later in itertools.pairwise(sizes)]
    claim = "regret grows like the number of rows and columns"
    linear = Claim.within(claim, "K = L = 8, 16, 32", "doubles by", growth, 1.6, 2.6)
    return Reproduction({"cells": compared}, [*judge_tables(compared, SPIKE_TITLES), linear], {})


TABLES = {"cascading": cascading, "rank1elim": rank1elim}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--quick", action="store_true", help="4 runs; of cascades up to 32 items")
    parser.add_argument("--out", type=Path, help="directory for runs, tables and figures")
    parser.add_argument("--workers", type=int)
    chosen = parser.parse_args()
    out = chosen.out or Path("out", chosen.table)
    with progress_bar("runs", out=out, compiles=True) as progress:
        result = TABLES[chosen.table](Protocol(out, chosen.quick, chosen.workers, progress))
    show_reproduction(result, out, chosen.table, quick=chosen.quick)


if __name__ == "__main__":
    main()
