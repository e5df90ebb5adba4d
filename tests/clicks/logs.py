"""Small logs for the tests: random sessions and their rows in the formats."""

from __future__ import annotations

import polars as pl

from tests.oracles.pbm_em import Session
from tests.suites.click_models import example_lists


def random_sessions(seed: int, lists: int = 300) -> list[Session]:
    """The lists on which `tests.suites` tries click models."""
    return [
        Session(part["query"][0], part["item"].to_list(), part["clicked"].to_list())
        for part in example_lists(seed, lists).partition_by("list", maintain_order=True)
    ]


def rpc_rows(sessions: list[Session]) -> bytes:
    rows = []
    for number, session in enumerate(sessions):
        query, region = session.query.split("_")
        rows.append("\t".join([str(number), "0", "Q", query, region, *session.items]))
        rows += [
            f"{number}\t{10 + rank}\tC\t{item}"
            for rank, (item, clicked) in enumerate(zip(session.items, session.clicks, strict=True))
            if clicked
        ]
    return "".join(row + "\n" for row in rows).encode()


def long_table(sessions: list[Session]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            (number, session.query, item, rank, clicked)
            for number, session in enumerate(sessions)
            for rank, (item, clicked) in enumerate(zip(session.items, session.clicks, strict=True), 1)
        ],
        schema=["list", "query", "item", "position", "clicked"],
        orient="row",
    )
