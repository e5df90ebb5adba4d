"""The tables "Lists" of docs/measured.md: ``python -m benchmarks.which_list_policy [--runs 32]`` plays and writes them.

The arena of lists, every policy in every world: problems of 10 items with so many runs, those of 100 with half as many
and those of 1,000 with a quarter. Problems of 1,000 items have a column of their own: there nobody has time to try all.
``--out`` keeps finished runs, so that it can be played in pieces.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

import rankone
from rankone.simulation.arena import Arena
from rankone.simulation.arena_problems import ARENAS, WORLDS

PAGE = Path(__file__).parent / "measured" / "lists.md"
# Policies whose tails are written.
IN_DETAIL = ("bc-ts", "dcm-ts", "gibbs-ts", "grab", "cascade-ts", "pie-l", "unirank", "toprank", "random-list")


MANY = "1,000 items"
SIZES = {10: 1, 100: 2, 1_000: 4}  # items, and the share of the runs that is played


def played(runs: int, workers: int | None, out: Path | None, sizes: list[int]) -> Arena:
    """Return the arena of problems of these sizes, in its own order."""
    entries = {entry.name: entry.problem().shape[0] for entry in ARENAS["lists"]}
    found: dict[str, pl.DataFrame] = {}
    for size in sizes:
        names = [name for name, items in entries.items() if items == size]
        part = rankone.arena(names, of="lists", runs=max(2, runs // SIZES[size]), workers=workers, out=out)
        found |= {str(rows["problem"][0]): rows for rows in part.table.partition_by("problem", maintain_order=True)}
    return Arena(pl.concat([found[name] for name in entries if name in found]), "gibbs-ts")


def markdown(rows: list[list[str]]) -> str:
    """Write a table; the first row is its head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]) + "\n"


def written(found: Arena) -> str:
    """Return the tables: worlds and tails."""
    many = pl.col("problem").str.contains("-1000x")
    few, large = (Arena(found.table.filter(rows), found.against) for rows in (~many, many))
    scores, cells = found.scores(), {(row["policy"], row["world"]): row for row in few.robustness().to_dicts()}
    means = dict(large.scores().select("policy", "against_mean").iter_rows())
    lost = dict(large.table.group_by("policy").agg(pl.col("lost").max()).iter_rows())
    first = [["policy", *WORLDS, MANY, "all", "worst", "on"]]
    tails = [["policy", *WORLDS, MANY]]
    for row in scores.to_dicts():
        policy = row["policy"]
        ratios = [*(cells[policy, world]["against_mean"] for world in WORLDS), means[policy], row["against_mean"]]
        worst = [f"{row['against_worst']:.2f}", row["worst_problem"]]
        first.append([f"`{policy}`", *(f"{ratio:.2f}" for ratio in ratios), *worst])
        shares = [*(cells[policy, world]["lost"] for world in WORLDS), lost[policy]]
        tails += [[f"`{policy}`", *(f"{share:.0%}" for share in shares)]] if policy in IN_DETAIL else []
    return "\n".join(
        [
            f"Regret over the regret of `{found.against}`, geometric means over the problems of 10 and 100 items of each "
            "world, and over the two of 1,000 items:\n",
            markdown(first),
            "Tails: the worst 95% quantile of regret, as a share of what random lists lose:\n",
            markdown(tails),
        ]
    )


def main() -> None:
    """Play, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=32, help="runs on problems of 10 items")
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--out", type=Path, default=None, help="directory that keeps finished runs")
    parser.add_argument(
        "--items", type=int, nargs="+", default=list(SIZES), choices=SIZES, help="sizes to play; the page needs all"
    )
    parser.add_argument("--only-play", action="store_true", help="leave the page as it is")
    given = parser.parse_args()
    found = played(given.runs, given.workers, given.out, given.items)
    if given.only_play:
        return
    PAGE.write_text(written(found))


if __name__ == "__main__":
    main()
