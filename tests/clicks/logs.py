"""Small logs for the tests: random sessions and their rows in the formats."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import zstandard

from rankone.numerics.seeds import generator
from tests.oracles.pbm_em import Session


def random_sessions(seed: int, lists: int = 300, queries: int = 3, items: int = 8, length: int = 5) -> list[Session]:
    rng = generator(seed, "test sessions")
    sessions = []
    for _ in range(lists):
        query = int(rng.integers(queries))
        chosen = rng.permutation(items)[:length]
        clicks = rng.random(length) < 0.6 * (1 + chosen) / items / (1 + 0.3 * rng.permutation(length))
        sessions.append(Session(f"{query}_0", [str(100 * query + item) for item in chosen], clicks.tolist()))
    return sessions


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


COMPRESSIONS = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(COMPRESSIONS[path.suffix if path.suffix in COMPRESSIONS else ""](data))
    return path
