"""What a report on an experiment says, and how it is told. Plain values: a client reads one without NumPy or Numba."""

from __future__ import annotations

import dataclasses
from typing import Any

from rankone.deprecation import OldAttribute
from rankone.notebook import Shown
from rankone.serving.clock import AHEAD
from rankone.specs import amount, duration

NOT_KNOWN = "policy not known here: import the module that defines it"
_RATE = len("100.0% (100.0% - 100.0%)")  # characters


@dataclasses.dataclass(frozen=True)
class LevelReport:
    """One row or column. Its rate is measured with the leading partner, where levels can be compared."""

    name: str
    live: bool
    decisions: int
    share: float  # of all decisions
    outcomes: int
    clicks: int
    rate: float | None  # click rate together with the leading column (row); None: no outcome yet
    low: float
    high: float
    in_race: bool  # could still be the best
    doubt: float  # it is beaten at any error rate above this one


@dataclasses.dataclass(frozen=True, repr=False)
class Report(Shown):
    """A report on an experiment at one moment. ``str(report)`` is made for reading, `to_dict` for programs."""

    name: str
    policy: str
    policy_known: bool  # in the process that made the report; False: it can be looked at and stopped, not played
    seq: int  # events in the journal
    decisions: int
    outcomes: dict[str, int]  # by kind: clicked, not_clicked, expired, held, late, void, open
    fillers: int
    voided_by_age: int  # decisions that nobody told, to make room for new ones
    best_row: str
    best_col: str
    rate: float | None
    low: float
    high: float
    confidence: float  # lower bound on the probability that the leading pair is the best one
    error_rate: float
    decided: bool  # the winner is known at the stated error rate
    stopped: str | None  # why the experiment was stopped
    shown_row: str | None  # what every visitor sees since it was stopped; None: it runs
    shown_col: str | None
    resumed: str | None  # why it experiments again although nobody resumed it: the pair it showed was retired
    clock_ahead: float  # seconds that the journal's time is ahead of the machine's clock, when last noted
    clock_jumped: float  # seconds by which the machine's clock, and the journal's time, last jumped ahead
    window: float | None  # seconds after which silence means "not clicked"; until then outcomes are held
    rows: tuple[LevelReport, ...]
    cols: tuple[LevelReport, ...]
    eras: tuple[str, ...]  # why the policy started (afresh)
    reward_cap: float | None = None  # clicks are rewards, rounded with probability reward / cap; None: they are clicks

    @property
    def sentence(self) -> str:
        """What leads, how sure that is and what is still in the race, in one sentence; more where more must be said."""
        unknown = [] if self.policy_known else [f"P{NOT_KNOWN[1:]}; until then nothing can be asked or told."]
        held = self.outcomes["held"]
        are = "is" if held == 1 else "are"
        window = f"the window of {duration(self.window or 0)}"
        waiting = [f"{amount(held, 'outcome')} told {are} held until {window} is over."] if held else []
        pair = f"'{self.shown_row}' with '{self.shown_col}'"
        stopped = [f"Stopped ({self.stopped}): every visitor now sees {pair}."] if self.stopped else []
        again = [f"It experiments again: {self.resumed}."] if self.resumed else []
        now = [self._standing(), *self._reward()]
        return " ".join([*stopped, *again, *now, *waiting, *self._crowded(), *self._clock(), *unknown])

    def _reward(self) -> list[str]:
        if self.reward_cap is None or self.rate is None:
            return []
        mean, low, high = (f"{share * self.reward_cap:,.4g}" for share in (self.rate, self.low, self.high))
        return [
            f"Clicks are rounded rewards of at most {self.reward_cap:g}: {mean} on average, between {low} and {high}."
        ]

    def _clock(self) -> list[str]:
        said = []
        if self.clock_jumped and self.window:
            by = duration(self.clock_jumped, rounded=True)
            said.append(f"The machine's clock jumped ahead by {by}: windows that were open then ended early.")
        if self.clock_ahead * 1e6 > AHEAD:
            ahead = f"{duration(self.clock_ahead, rounded=True)} ahead of the clock of the machine that noted it"
            said.append(f"The journal is {ahead}; windows end by the journal's time.")
        return said

    def _crowded(self) -> list[str]:
        voided = self.voided_by_age
        if not voided:
            return []
        were = f"{amount(voided, 'decision')} without an outcome {'was' if voided == 1 else 'were'}"
        do = "tell or void what you ask, or make the experiment with a window or a larger max_open"
        return [f"{were} voided for age, to make room: {do}."]

    def _standing(self) -> str:
        if self.outcomes["clicked"] + self.outcomes["not_clicked"] + self.outcomes["expired"] == 0:
            return f"No outcomes yet: {amount(self.decisions, 'decision')} given out, nothing is known so far."
        pair = f"'{self.best_row}' with '{self.best_col}'"
        figures = f"{_percent(self.rate)} clicks, between {_percent(self.low)} and {_percent(self.high)}"
        if self.decided:
            steady = "while click rates stay as they are"  # and under the model; `winner` says why
            sure = f"wrong with probability at most {self.error_rate:g} {steady}, however often you look"
            return f"{pair} has won ({figures}): {sure}."
        racing = [sum(level.in_race for level in levels) for levels in (self.rows, self.cols)]
        levels = f"{amount(racing[0], 'row')} and {amount(racing[1], 'column')} are still in the race"
        sure = "too early to be sure" if self.confidence < 0.5 else f"at least {_percent(self.confidence)} sure"
        return f"{pair} leads ({figures}), {sure}" + ("." if self.stopped else f"; {levels}.")

    def _sentence(self) -> str:
        return f"{self._head()}\n{self.sentence}"

    def _tables(self) -> dict[str, Any]:
        levels = [("row", level) for level in self.rows] + [("column", level) for level in self.cols]
        names = [field.name for field in dataclasses.fields(LevelReport)]
        columns = {name: [getattr(level, name) for _, level in levels] for name in names}
        return {"levels": {"side": [side for side, _ in levels]} | columns}

    def _shown(self) -> dict[str, Any]:
        """Without what few look for: whether a level lives, and the error rate at which it is beaten."""
        return {name: column for name, column in self._tables()["levels"].items() if name not in ("live", "doubt")}

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return dataclasses.asdict(self) | {"sentence": self.sentence}

    as_dict = OldAttribute("to_dict")

    def _head(self) -> str:
        return f"{self.name} ({self.policy}): {amount(self.decisions, 'decision')}, " + ", ".join(
            f"{count} {kind.replace('_', ' ')}"
            for kind, count in self.outcomes.items()
            if count or kind in ("clicked", "open")
        )

    def __str__(self) -> str:
        return "\n".join([self._head(), self.sentence, *_table("row", self.rows), *_table("column", self.cols)])


def _table(side: str, levels: tuple[LevelReport, ...]) -> list[str]:
    width = max(len(side), *(len(level.name) for level in levels))
    rows = [f"  {side:<{width}}  traffic  outcomes  clicks  {'rate with the leader':<{_RATE}}  in the race"]
    for level in levels:
        rate = f"{_percent(level.rate):>6} ({_percent(level.low)} - {_percent(level.high)})"
        race = "yes" if level.in_race else "no" if level.live else "retired"
        figures = f"{level.share:>7.1%}  {level.outcomes:>8}  {level.clicks:>6}  {rate:<{_RATE}}"
        rows.append(f"  {level.name:<{width}}  {figures}  {race}")
    return rows


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
