"""The position-based model by EM as PyClick does it: one object a session, a loop over sessions, ranks and iterations.

Written from the description of the rule: every parameter starts as 1 / 2; each iteration makes new parameters that start
as numerator 1 and denominator 2, adds the posteriors of the old ones session by session, and clips values at 1 - 1e-6.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict


@dataclasses.dataclass
class Session:
    query: str
    items: list[str]
    clicks: list[bool]


class Param:
    def __init__(self) -> None:
        self.numerator, self.denominator = 1.0, 2.0

    @property
    def value(self) -> float:
        return min(self.numerator / self.denominator, 1.0 - 1e-6)

    def add(self, probability: float) -> None:
        self.numerator += probability
        self.denominator += 1.0


def fit(sessions: list[Session], iterations: int = 50, shared: bool = True):
    """Return attraction by (query, item) and examination by (curve, rank); one curve, or one per query."""
    attraction: dict = defaultdict(Param)
    examination: dict = defaultdict(Param)
    for _ in range(iterations):
        new_attraction: dict = defaultdict(Param)
        new_examination: dict = defaultdict(Param)
        for session in sessions:
            for rank, (item, clicked) in enumerate(zip(session.items, session.clicks, strict=True), 1):
                pair, place = (session.query, item), ("" if shared else session.query, rank)
                a, g = attraction[pair].value, examination[place].value
                if clicked:
                    attractive = examined = 1.0
                else:
                    attractive = a * (1.0 - g) / (1.0 - a * g)
                    examined = g * (1.0 - a) / (1.0 - a * g)
                new_attraction[pair].add(attractive)
                new_examination[place].add(examined)
        attraction, examination = new_attraction, new_examination
    return (
        {pair: param.value for pair, param in attraction.items()},
        {place: param.value for place, param in examination.items()},
    )
