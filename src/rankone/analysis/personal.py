"""A log of users and items: whether a choice for each user pays, by how much, and what a policy starts from.

Does the best item depend on the user? Outcomes are halved at random. One half finds classes of users and the best item
of each; the other half says what these items are clicked more than *any* one item for all. If one item is best for
everybody, nothing that was picked on the first half beats that item on the second but for chance, so the largest
p-value over all items holds. Then the halves change places; of both p-values twice the smaller one is taken. Standard
errors count users, not displays. A table of rank 1 has one best item for all, and one of higher rank may have: this
test asks what pays, not the rank.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl

from rankone.analysis.personal_fits import fit_classes, fit_vectors, labels_of
from rankone.clicks.counts.counts import check_columns
from rankone.clicks.counts.frames import known_frame, to_polars
from rankone.errors import InputError
from rankone.notebook import Answer
from rankone.numerics.arrays import Floats
from rankone.numerics.seeds import generator
from rankone.policies.arrivals.model import Classes, Vectors, write_model
from rankone.specs import number_in, whole_number
from rankone.wording.lists import cut_text
from rankone.wording.ratios import effect_text

_UNEVEN = 4.0  # standard deviations
_OFTEN = 20  # visits of a user from which users count as coming back
_WIDTH = 1.96
_NOT_ENOUGH = 100  # clicks in all, below which nothing is said


class Gain(NamedTuple):
    """What a choice for each class of users earns more than one item for all, clicks a display."""

    p_value: float
    gain: float
    error: float  # standard error of the gain
    rate: float  # click rate of the best item for all
    item: int  # which one that is


def _against(shown: Floats, clicked: Floats, label: Floats, picks: Floats) -> tuple[Floats, Floats, Floats]:
    """Return for each item what the picks earn more, its standard error, and the item's own rate."""
    items = shown.shape[1]
    gain, variance, rates = np.zeros(items), np.zeros(items), np.zeros(items)
    total = shown.sum()
    for each, pick in enumerate(picks):
        n, s = shown[label == each], clicked[label == each]
        looks, clicks = n.sum(axis=0), s.sum(axis=0)
        share, rate = looks.sum() / total, clicks / np.maximum(looks, 1.0)
        both = (looks > 0.0) & (looks[pick] > 0.0)
        both[pick] = False
        smooth = (clicks + 1.0) / (looks + 2.0)
        own = (s - rate * n) / np.maximum(looks, 1.0)
        by_users = ((own[:, [pick]] - own) ** 2).sum(axis=0)
        by_clicks = smooth * (1.0 - smooth) / np.maximum(looks, 1.0)
        spread = np.maximum(by_users, by_clicks + by_clicks[pick])
        gain += np.where(both, share * (rate[pick] - rate), 0.0)
        variance += np.where(both, share**2 * spread, 0.0)
        rates += share * rate
    return gain, np.sqrt(variance), rates


def shares_differ(shown: Floats) -> bool:
    """Tell whether users were shown items in different shares, as policies that learn do; wrongly in 1 log of 10,000.

    Pearson's sum of squares; its variance is that of Poisson cells, which may have few displays.

    >>> shares_differ(np.array([[50.0, 50.0], [48.0, 52.0]])), shares_differ(np.array([[90.0, 10.0], [10.0, 90.0]]))
    (False, True)
    """
    expected = np.outer(shown.sum(axis=1), shown.sum(axis=0)) / max(1.0, float(shown.sum()))
    expected = expected[expected.sum(axis=1) > 0.0][:, shown.sum(axis=0) > 0.0]
    seen = shown[shown.sum(axis=1) > 0.0][:, shown.sum(axis=0) > 0.0]
    free, spread = (seen.shape[0] - 1) * (seen.shape[1] - 1), float((2.0 + 1.0 / expected).sum())
    return bool(((seen - expected) ** 2 / expected).sum() > free + _UNEVEN * math.sqrt(spread))


def personal_gain(shown: Floats, clicked: Floats, seed: int = 0) -> Gain:
    """Return what a choice for each class earns more than one item for all, and whether that is certain."""
    rng, found = generator(seed, "halves"), []
    n, s = shown.astype(np.int64), clicked.astype(np.int64)
    looks = rng.binomial(n, 0.5)
    clicks = rng.hypergeometric(s, n - s, looks)
    for first in ((looks, clicks), (n - looks, s - clicks)):
        half = first[0].astype(float), first[1].astype(float)
        rest = shown - half[0], clicked - half[1]
        classes = fit_classes(*half, seed=seed)
        label = labels_of(classes, *half).argmax(axis=1)
        gains, errors, rates = _against(*rest, label, classes.means.argmax(axis=1))
        z = gains / np.where(errors > 0.0, errors, np.inf)  # an item that nobody can be compared on: 0.5
        p_values = np.array([0.5 * math.erfc(each / math.sqrt(2.0)) for each in z.tolist()])
        seen = rest[0].sum(axis=0) > 0.0
        best = int(np.where(seen, rates, -1.0).argmax())
        found.append(
            (float(p_values[seen].max(initial=0.0)) if seen.any() else 1.0, gains[best], errors[best], rates[best])
        )
    pooled = (clicked.sum(axis=0) + 1.0) / (shown.sum(axis=0) + 2.0)
    p_value = min(1.0, 2.0 * min(each[0] for each in found))
    more, rate = (float(np.mean([each[k] for each in found])) for k in (1, 3))
    error = math.sqrt(sum(each[2] ** 2 for each in found) / 2.0)  # as if both halves erred together
    return Gain(p_value, more, error, rate, int(pooled.argmax()))


@dataclass(frozen=True, repr=False)
class Personal(Answer):
    """What a log says of users and items."""

    items: list[str]
    users: list[str]
    shown: Floats  # (users, items)
    clicked: Floats
    gain: Gain
    classes: Classes
    vectors: Vectors
    level: float

    @property
    def pays(self) -> bool:
        """Whether a choice for each user is shown to earn more than one item for all."""
        return self.gain.p_value <= self.level and not shares_differ(self.shown)

    @property
    def recommended(self) -> str:
        """The policy that suits what the log shows; one that takes ``model=FILE`` starts from the file of `save`."""
        if not self.pays:
            return "thompson"
        return "mixture-ts" if np.median(self.shown.sum(axis=1)) >= _OFTEN else "icf-ucb"

    @property
    def assumes(self) -> str:
        """What the answer rests on, in one line."""
        return "Assumes: equal shares of items for all users at all times; click rates that stay; similar later users."

    @property
    def details(self) -> str:
        """Assumptions and method."""
        return (
            "Shares that differ between users are noticed. Half of the outcomes found classes of users and the best "
            "item of each; the other half compared these with every single item for all, "
            f"p = {self.gain.p_value:.2g}. Nothing is claimed about any one user."
        )

    @property
    def headline(self) -> str:
        """The answer in at most 25 words."""
        best, gain = cut_text(self.items[self.gain.item], 3), self.gain
        if len(self.items) == 1:
            return f"Nothing to compare: only '{best}' was shown."
        if self.clicked.sum() < _NOT_ENOUGH:
            return f"Not enough data yet: {self.clicked.sum():,.0f} clicks, at least {_NOT_ENOUGH} are needed."
        if shares_differ(self.shown):
            unknown = "this log cannot say whether the best item depends on the user"
            return f"Users were shown items in different shares: {unknown}."
        if not self.pays:
            return f"No sign that the best item depends on the user: show '{best}' to all. More clicks may tell."
        low, high = ((gain.gain + sign * _WIDTH * gain.error) / gain.rate for sign in (-1.0, 1.0))
        more = effect_text(1.0 + gain.gain / gain.rate, 1.0 + low, 1.0 + high)
        return f"The best item depends on the user: personal choice earns {more} clicks compared with '{best}' for all."

    def _tables(self) -> dict[str, Any]:
        looks, clicks = self.shown.sum(axis=0), self.clicked.sum(axis=0)
        rates = self.classes.means
        order = np.argsort(-self.classes.members)
        best = {
            f"class {index + 1} ({self.classes.members[each] / len(self.users):.0%})": rates[each]
            for index, each in enumerate(order)
        }
        rows = {"item": self.items, "shown": looks, "clicked": clicks, "rate": clicks / np.maximum(looks, 1.0)}
        table = pl.DataFrame(rows | best).cast({"shown": pl.Int64, "clicked": pl.Int64})
        return {"items": table.sort("rate", descending=True)}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        values = {"pays": self.pays, "recommended": self.recommended, "p_value": self.gain.p_value}
        return self.depths() | values | {"items": self._tables()["items"].to_dicts()}

    def save(self, path: str | Path) -> None:
        """Write classes and vectors as JSON, for policies that take ``model=FILE``."""
        write_model(path, self.items, self.classes, self.vectors)


def personal(
    frame: Any,
    *,
    user: str,
    item: str,
    clicked: str,
    shown: str | None = None,
    rank: int = 3,
    level: float = 0.05,
    seed: int = 0,
) -> Personal:
    """Tell whether the best item depends on the user, and fit what policies start from.

    Args:
        frame: any dataframe, with a row per user and item, or a row per display.
        user: column of the user.
        item: column of the item.
        clicked: column of clicks.
        shown: column of displays; None: each row is one.
        rank: how many numbers the vectors of items have.
        level: probability of saying that it depends where it does not.
        seed: of the halves that the test draws, and of the fits.

    >>> import rankone
    >>> shown, clicked = rankone.as_problem("latent:60x3:figure=2").sample(20_000)
    >>> cells = [(i, j, int(shown[i, j]), int(clicked[i, j])) for i in range(60) for j in range(3)]
    >>> frame = pl.DataFrame(cells, schema=["user", "item", "shown", "clicked"], orient="row")
    >>> found = personal(frame, user="user", item="item", shown="shown", clicked="clicked")
    >>> found.pays, found.recommended, len(found.classes.members)
    (True, 'mixture-ts', 4)
    """
    number_in("level", level, "(0, 1)", example=0.05), whole_number("rank", rank)
    table = known_frame(frame)
    check_columns(table.collect_schema().names(), filter(None, (user, item, clicked, shown)), "name the columns")
    looks = nw.lit(1) if shown is None else nw.col(shown)
    counted = table.select(
        nw.col(user).cast(nw.String).alias("user"),
        nw.col(item).cast(nw.String).alias("item"),
        looks.cast(nw.Float64).alias("shown"),
        nw.col(clicked).cast(nw.Float64).alias("clicked"),
    )
    rows = to_polars(counted.group_by("user", "item").agg(nw.col("shown").sum(), nw.col("clicked").sum()))
    if rows.null_count().sum_horizontal().sum() or rows.is_empty():
        got = "gaps" if rows.height else "no row"
        raise InputError("a user, an item and numbers in every row", got, "fill them in")
    wrong = rows.filter((pl.col("clicked") > pl.col("shown")) | (pl.col("clicked") < 0))
    if wrong.height:
        first = wrong.row(0, named=True)
        got = f"{first['clicked']:g} of {first['shown']:g} for user {first['user']}"
        raise InputError("at most as many clicks as displays", got, "say which column counts displays")
    users, items = (rows[side].unique().sort().to_list() for side in ("user", "item"))
    at = tuple(
        rows[side].replace_strict(names, range(len(names)), return_dtype=pl.Int64).to_numpy()
        for side, names in (("user", users), ("item", items))
    )
    seen, clicks = np.zeros((2, len(users), len(items)))
    seen[at], clicks[at] = rows["shown"].to_numpy(), rows["clicked"].to_numpy()
    classes, vectors = fit_classes(seen, clicks, seed), fit_vectors(seen, clicks, rank, seed)
    return Personal(items, users, seen, clicks, personal_gain(seen, clicks, seed), classes, vectors, level)
