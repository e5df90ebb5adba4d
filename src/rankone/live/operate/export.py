"""All decisions of an experiment as a table: one row per decision, with what became of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankone.errors import InputError
from rankone.live.database import Database
from rankone.live.evidence.goal_outcomes import as_value
from rankone.live.factors import Factors
from rankone.live.fold.fold import Fold
from rankone.live.fold.journal_reading import begin, each_to_end, reading_notes
from rankone.live.fold.list_fold import ListFold
from rankone.live.journal.events import AT, DECISION, KIND, OUTCOMES, TAG, VALUE, Events, Kind, Texts, of_rows
from rankone.live.journal.packing import unpack_chances, unpack_shown
from rankone.live.lists import CLICKED, MAX_POSITIONS, OTHER, limits_of
from rankone.live.operate.archive import kept_rows, whole_journal
from rankone.live.storage import Storage
from rankone.writing import PRIVATE, whole_file

_OUTCOME = {
    Kind.TELL: "told",
    Kind.HOLD: "held",
    Kind.LEARN: "told",
    Kind.EXPIRE: "expired",
    Kind.LATE: "late",
    Kind.VOID: "void",
}
_TIME = "%Y-%m-%dT%H:%M:%S%.6f%:z"  # as in JSON lines
_MORE = ("asked_at", "source", "outcome", "clicked", "learned", "outcome_at", "token", "chance")
_GOAL = "goal_"  # before the names of goals
_CONTEXT = "context_"  # before the names of attributes
_EACH_POSITION = ("position", "shown", "pin", "item_chance")
_FORMULA = r"""((?:^|;)[" ]*)([=+\-@\t\r])"""


def decisions_table(
    database: Database, name: str, *, archive: str | Path | None = None, rest: bool = False
) -> pl.DataFrame:
    """Return the decisions of an experiment; outcomes are open, held, told, expired, late or void.

    `learned` says whether the outcome counts: not if it is open, held, late, void or excluded.
    Where it came late, what closed its decision stands: silence, which counts, or a void. `token` is the id of the
    token that asked a service for the decision, `chance` the probability with which it was chosen, where that is known;
    of a decision that explores under a policy which says none, that it explores and shows this.
    Of a ranking there is a row for each position of each list, with `list`, `position`, `item`, whether it was `pinned`
    and `chance`, how likely it was given the items above: `rankone.evaluate_lists` reads that. Else there is a column
    for each factor with the names of its levels, and one for each goal but a click that steers, named
    `goal_` and the goal: what was told in time, added up; of an amount that steers, `clicked` is what it was `rounded`
    to. Where something was said of visitors, there is a column for each attribute, named `context_` and the attribute.

    Args:
        database: where the experiment is.
        name: its name.
        archive: the folder with its archives, if it has any.
        rest: take only the decisions that are not archived, and those that were open when others were.
    """
    asks, outcomes, brought = [], [], dict[str, dict[int, int]]()
    with database.reader() as storage:
        number = storage.number(name)
        storage.hold_still()  # or an archive could take away what is about to be read
        journal = whole_journal(storage, number, archive, rest)
        fold = begin(journal, number, with_policy=False)
        lists = isinstance(fold, ListFold)
        factors = None if lists else _most_factors(storage, number)
        if fold.open:  # where the rest begins
            kept = kept_rows(storage.upto(number, fold.seq), fold.open)
            asks.append(_asks(of_rows(kept), factors))
            outcomes.append(_outcomes(of_rows(kept), fold))
        for events in each_to_end(journal, number, fold):
            asks.append(_asks(events, factors))
            outcomes.append(_outcomes(events, fold))
            _add_goals(events, fold, brought)
    # A late outcome replaces the expiry or the void that it follows.
    each = pl.concat(outcomes).group_by("number", maintain_order=True)
    table = pl.concat(asks).join(each.agg(pl.all().last()), on="number", how="left", maintain_order="left")
    for goal, told in brought.items():
        numbers, values = list(told), [as_value(units) for units in told.values()]
        column = pl.DataFrame(
            {"number": numbers, f"{_GOAL}{goal}": values}, {"number": pl.Int64, f"{_GOAL}{goal}": pl.Float64}
        )
        table = table.join(column, on="number", how="left", maintain_order="left")
    if isinstance(fold, ListFold):
        table = _by_position(table, fold)
    return table.select(
        "id",
        *(["list", "position", "item", "pinned"] if lists else ["number", *_levels(fold.factors)]),
        "filler",
        pl.from_epoch("asked_at", time_unit="us").dt.replace_time_zone("UTC"),
        "source",
        pl.col("outcome").fill_null("open"),
        pl.when(pl.col("outcome").is_in(["told", "held", "late", "expired"])).then(pl.col("clicked")),
        pl.col("learned").fill_null(False),
        pl.from_epoch("outcome_at", time_unit="us").dt.replace_time_zone("UTC"),
        "token",
        "chance",
        *([pl.lit(True).alias("rounded")] if fold.settings.all_goals[0].adds_up else []),
        *(f"{_GOAL}{goal}" for goal in brought),
        *_attributes(fold.segments.attributes or ()),
        *([] if fold.visitors is None else ["visitor"]),
    )


def _attributes(attributes: Sequence[str]) -> list[pl.Expr]:
    if not attributes:
        return []
    said = pl.col("context").str.json_decode(pl.Struct(dict.fromkeys(attributes, pl.String)))
    return [said.struct.field(attribute).alias(f"{_CONTEXT}{attribute}") for attribute in attributes]


def _most_factors(storage: Storage, number: int) -> int:
    """Return how many factors an experiment has by now; what was decided before one came had its first level."""
    with reading_notes():
        notes = [texts.details() for texts in of_rows(storage.marks(number)).texts]
        return max(len(note["factors"]) for note in notes if "factors" in note)


def _levels(factors: Factors) -> list[pl.Expr]:
    columns = [f"factor {index}" for index in range(len(factors))]
    taken = {"id", "number", "filler", *_MORE}  # a factor may have the name of another column
    return [
        pl.lit(pl.Series(levels.names, dtype=pl.String))
        .gather(pl.col(column))
        .alias(f"{factor} (factor)" if factor in taken else factor)
        for column, (factor, levels) in zip(columns, factors.items(), strict=True)
    ]


def write_csv(table: pl.DataFrame, file: Any) -> None:
    """Write decisions as CSV.

    Spreadsheets calculate cells that begin with = + - @, a tab or a carriage return, and names and sources may come
    from strangers: such texts get a single quote in front, which makes them plain text there. So they do behind a
    semicolon, at which spreadsheets split where the decimal sign is a comma, whatever double quotes are around.
    """
    plain = table.with_columns(pl.col(pl.String).str.replace_all(_FORMULA, "$1'$2"))
    plain.write_csv(file, datetime_format=_TIME)


_WRITERS: dict[str, Callable[[pl.DataFrame, Any], Any]] = {
    ".parquet": pl.DataFrame.write_parquet,
    ".csv": write_csv,
    ".jsonl": pl.DataFrame.write_ndjson,
}


def write_decisions(
    database: Database, name: str, out: Path, *, archive: str | Path | None = None, rest: bool = False
) -> int:
    """Write the decisions of an experiment to a file whose ending says how; return how many there are."""
    writer = _WRITERS.get(out.suffix)
    if writer is None:
        raise InputError(f"a file that ends in {', '.join(_WRITERS)}", str(out), "try --out decisions.parquet")
    if not out.absolute().parent.is_dir():
        raise InputError(f"a folder for {out}", f"no folder {out.parent}", "make it")
    table = decisions_table(database, name, archive=archive, rest=rest)
    with whole_file(out, mode=PRIVATE) as part:
        writer(table, part)
    return table["id"].n_unique()


def _asks(events: Events, n_factors: int | None) -> pl.DataFrame:
    numbers = events.numbers
    asked = np.flatnonzero(numbers[:, KIND] == Kind.ASK)
    numbers, texts = numbers[asked], [events.texts[index] for index in asked.tolist()]
    ids = [
        f"{number}-{(text.secret or b'').hex()}"
        for number, text in zip(numbers[:, DECISION].tolist(), texts, strict=True)
    ]
    if n_factors is None:
        shown: dict[str, Any] = _list_columns(texts)
    else:
        levels = [unpack_shown(text.shown or b"", n_factors) for text in texts]
        each = np.array(levels, np.int64).reshape(-1, n_factors)
        shown = {f"factor {factor}": each[:, factor] for factor in range(n_factors)}
    return pl.DataFrame(
        {
            "id": pl.Series(ids, dtype=pl.String),
            "number": numbers[:, DECISION],
            **shown,
            "filler": numbers[:, TAG] < 0,
            "asked_at": numbers[:, AT],
            "source": pl.Series([text.source for text in texts], dtype=pl.String),
            "token": pl.Series([text.token for text in texts], dtype=pl.String),
            "chance": pl.Series([text.chance for text in texts], dtype=pl.Float64),
            "context": pl.Series([text.context for text in texts], dtype=pl.String),
            "visitor": pl.Series([text.details().get("visitor") for text in texts], dtype=pl.String),
        }
    )


def _outcomes(events: Events, fold: Fold) -> pl.DataFrame:
    numbers = events.numbers
    chosen = np.isin(numbers[:, KIND], OUTCOMES)
    numbers = numbers[chosen]
    kinds = [_OUTCOME[Kind(kind)] for kind in numbers[:, KIND].tolist()]
    columns = {
        "number": numbers[:, DECISION],
        "outcome": pl.Series(kinds, dtype=pl.String),
        "clicked": numbers[:, VALUE] & CLICKED != 0,
        "told": numbers[:, VALUE],
        "learned": np.array(fold.counted(events), bool)[chosen],
    }
    return pl.DataFrame(columns | {"outcome_at": numbers[:, AT]})


def _add_goals(events: Events, fold: Fold, brought: dict[str, dict[int, int]]) -> None:
    goals = fold.settings.all_goals
    for each in goals[0 if goals[0].adds_up else 1 :]:
        brought.setdefault(each.name, {})
    for head, texts in zip(events.heads, events.texts, strict=True):
        _, kind, _, decision, goal, units = head
        if kind == Kind.GOAL and decision >= 0 and not texts.details().get("late"):
            own = brought[goals[goal].name]
            own[decision] = own.get(decision, 0) + (units if fold.exclusions.taking(head, texts) is None else 0)


def _list_columns(texts: Sequence[Texts]) -> dict[str, pl.Series]:
    """Return what each list showed, as columns of lists: positions, items, names of what was pinned, probabilities."""
    shown = [unpack_shown(text.shown or b"") for text in texts]
    chances = [
        unpack_chances(text.cross_chances) or [None] * len(each) for text, each in zip(texts, shown, strict=True)
    ]
    pins = []
    for text, each in zip(texts, shown, strict=True):
        limits = limits_of(text)
        pinned = json.loads(limits).get("pinned", {}) if limits else {}
        pins.append([pinned.get(str(at)) for at in range(1, len(each) + 1)])
    return {
        "position": pl.Series([list(range(1, len(each) + 1)) for each in shown], dtype=pl.List(pl.Int64)),
        "shown": pl.Series([list(each) for each in shown], dtype=pl.List(pl.Int64)),
        "pin": pl.Series(pins, dtype=pl.List(pl.String)),
        "item_chance": pl.Series([list(each) for each in chances], dtype=pl.List(pl.Float64)),
    }


def _by_position(table: pl.DataFrame, fold: ListFold) -> pl.DataFrame:
    """Return a table with a row for each position of each list, its item by name, and whether that was clicked.

    Where it was told how many positions were seen, nothing is known of those below.
    """
    table = table.explode(_EACH_POSITION)
    told, position = table["told"].fill_null(0).to_numpy(), table["position"].to_numpy()
    seen = told >> MAX_POSITIONS
    items = pl.lit(pl.Series(fold.items, dtype=pl.String))
    known = pl.when(pl.col("shown") < OTHER).then(pl.col("shown"))
    return table.with_columns(
        pl.Series("clicked", (told >> (position - 1)) & 1 == 1),
        pl.Series("unseen", (seen > 0) & (position >= seen)),
        pl.coalesce("pin", items.gather(known)).alias("item"),
        pl.col("pin").is_not_null().alias("pinned"),
        pl.col("item_chance").alias("chance"),
        pl.col("number").alias("list"),
    ).with_columns(pl.when(~pl.col("unseen")).then(pl.col("clicked")).alias("clicked"))
