"""The embedded ranking: ask for a whole list, tell which of its positions were clicked."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from rankone.errors import InputError
from rankone.live.database import Database
from rankone.live.experiment import Experiment
from rankone.live.lists import ITEM
from rankone.live.settings import RankingWishes
from rankone.live.settings_spelled_out import takes_settings
from rankone.policies import Policy


@takes_settings(RankingWishes)
class Ranking(Experiment):
    """A live ranking, kept in a database: every decision is a list of items, learned from the clicks on its positions.

    It has all methods of `Experiment`, and works on the same database, service, page and commands.

    Args:
        name: name of the ranking in its database.
        items: the names of what can be listed, up to 1,000. A new ranking needs them.
        positions: how long a list is, up to 40.
        policy: the rule that orders items: gibbs-ts (the default), cascade-ts, pbm-ts or dcm-ts.
        db: as of `Experiment`.
        durability: as of `Experiment`.
        sync: add and retire items of a ranking that is there, so that it has those of `items`.
        **settings

    >>> home = Ranking("home", ["news", "shoes", "hats", "bags"], positions=2, db=None)
    >>> decision = home.ask(pinned={1: "ad"}, exclude=["hats"])
    >>> len(decision.items), decision.items[0]
    (2, 'ad')
    >>> home.tell(decision, clicked=[2]).positions
    (2,)
    >>> home.close()
    """

    def __init__(
        self,
        name: str,
        items: Sequence[str] | int | None = None,
        positions: int | None = None,
        policy: str | Policy | None = None,
        db: str | Path | Database | None = "rankone.db",
        *,
        durability: str = "full",
        sync: bool = False,
        **settings: Unpack[RankingWishes],
    ) -> None:
        if items is not None and positions is None:
            raise InputError("how many positions a list has", "none", "pass positions=5, for example")
        factors = None if items is None else {ITEM: items}
        wanted: Any = {"factors": factors, "positions": positions, **settings}
        super().__init__(name, policy=policy, db=db, durability=durability, sync=sync, **wanted)
        if not self.settings.positions:
            self.close()
            raise InputError("the name of a ranking", f"'{name}', an experiment", "open it with Experiment")
