"""Katariya, Kveton, Szepesvari, Vernade, Wen, "Stochastic Rank-1 Bandits" (AISTATS 2017), Table 1: the regret of
Rank1Elim, the predecessor of the paper's algorithm, on spike problems after 2,000,000 decisions; 20 runs.

Three columns of nine settings: sizes (p = 0.7, gap = 0.2), base rates of rows and columns (8 x 8, gap 0.2), and gaps of
rows and columns (8 x 8, p = 0.7).
"""

from __future__ import annotations

from itertools import pairwise

from rankone.paper.claims import Cell, Claim, Reproduction, compare, judge_tables
from rankone.paper.protocol import Played, Protocol
from rankone.problems import RankOne, needle

HORIZON, RUNS, POLICY = 2_000_000, 20, "rank1elim"
TITLES = {"sizes": "sizes", "base rates": "base rates of rows and columns", "gaps": "gaps of rows and columns"}
# rows, columns, p of rows, p of columns, gap of rows, gap of columns, mean, standard error
TABLE = """
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


def published() -> tuple[list[Cell], list[RankOne]]:
    """Return the figures of the table, and the problems they are about."""
    cells, problems = [], {}
    for index, line in enumerate(TABLE.strip().splitlines()):
        rows, cols, *numbers = line.split()
        p_rows, p_cols, gap_rows, gap_cols, mean, se = map(float, numbers)
        problem = needle(int(rows), int(cols), p=(p_rows, p_cols), gap=(gap_rows, gap_cols))
        problems[problem.name] = problem
        cells.append(Cell(list(TITLES)[index // 9], problem.name, POLICY, mean, se))
    return cells, list(problems.values())


def reproduce(protocol: Protocol) -> Reproduction:
    """Play every cell of the table and judge it; quick: 4 runs, the horizon stays the paper's."""
    cells, problems = published()
    compared = compare(cells, protocol.play([Played(problems, [POLICY], HORIZON)], runs=4 if protocol.quick else RUNS))
    mean = {row["problem"]: row["measured"] for row in compared.iter_rows(named=True)}
    sizes = [mean[needle(size, size, p=0.7, gap=0.2).name] for size in (8, 16, 32)]
    growth = [later / earlier for earlier, later in pairwise(sizes)]
    claim = "regret grows like the number of rows and columns"
    linear = Claim.within(claim, "K = L = 8, 16, 32", "doubles by", growth, 1.6, 2.6)
    return Reproduction({"cells": compared}, [*judge_tables(compared, TITLES), linear], {})
