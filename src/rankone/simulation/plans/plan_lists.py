"""How long will it take? Visitors until the items that belong into a list are proven, before it begins.

Lists are drawn, learned and weighed by the code that runs live (`rankone.evidence.list_lottery`, `.lists`). As in
`rankone.plan`, rare clicks and small lifts are rehearsed as more frequent and larger ones, and the result is brought
back: a verdict takes about as many looks at items as T* of rare clicks says.
"""

import dataclasses
import functools
from typing import Any

import numpy as np

from rankone.compiling.compiled import compiled, noalloc
from rankone.evidence.list_lottery import LIST_EXPLORE, RENEWED, draw_list, list_shares, start_lottery
from rankone.evidence.lists import MOST_ITEMS, ListClaims, list_standing, start_list_evidence, weigh_list
from rankone.evidence.steering import ERROR_RATE
from rankone.kernels.policy import believe, learn
from rankone.kernels.world import loss, respond
from rankone.numerics.seeds import generator
from rankone.policies import as_policy
from rankone.problems.lists import PBM, Cascade
from rankone.problems.lists.pbm import examined
from rankone.progress import Progress
from rankone.simulation.plans.plan import Case, Plan, Trial, rehearsed_spans
from rankone.simulation.plans.plan_inputs import check_plan
from rankone.specs import one_of, whole_number
from rankone.wording.numbers import count_text, percent

_draw, _weigh = noalloc(draw_list), noalloc(weigh_list)
_POLICY, _MOST_POSITIONS = "gibbs-ts", 40  # the policy of rankings by default, and how long their lists may be
MODELS = {
    "pbm": "position {last} is looked at {part} as often as the top, whatever is listed above",
    "cascade": "visitors read from the top and stop at their first click",
}


@dataclasses.dataclass(frozen=True, repr=False)
class ListPlan(Plan):
    """What a ranking of this size would take, with each aim."""

    positions: int
    model: str

    @property
    def meaning(self) -> str:
        """What rate and lift say about the items, and how visitors read."""
        best, last = percent(self.rate * (1.0 + self.lift)), self.positions
        reading = MODELS[self.model].format(last=last, part=percent(examined(last)[-1]))
        clicked = f"{last} of {self.factors['item']} items clicked {best} of the times they are looked at"
        return f"{clicked}, all others {percent(self.rate)}; {reading}."

    @property
    def headline(self) -> str:
        """The answer in at most 25 words."""
        aim, size, items = self.main, self.positions, self.factors["item"]
        best = f"{size} of {items} items good enough" if self.margin else f"the {size} best of {items} items"
        if aim.median is None:
            ever = "at all" if np.isinf(aim.beyond) else f"within {count_text(aim.beyond)} visitors"
            return f"Most rankings like this do not prove {best} {ever}."
        late = "" if aim.late is None else f"; nine in ten by {self._time(aim.late, '')}"
        return f"Aim '{aim.way}': about {self._time(aim.median)} prove {best}{late}."

    @property
    def assumes(self) -> str:
        """What the answer rests on, in one line."""
        return f"Assumes: {self.meaning}"

    @property
    def details(self) -> str:
        """How sure the verdict is, and how it was played."""
        close = f" It says that no other item attracts over {percent(self.margin)} more." if self.margin else ""
        return (
            f"Each visitor sees one list. At most {percent(self.error)} of verdicts are wrong, however often you look, "
            "however visitors read and however the click rate of the whole site moves, if an item's appeal does not "
            f"depend on the items above it and clicks are reported equally for every item.{close}\n"
            f"Simulated with the policy {_POLICY}, no control list, and outcomes that are told at once."
        )


def plan_lists(
    items: int,
    positions: int,
    rate: float,
    lift: float,
    *,
    model: str = "pbm",
    visitors_a_day: float | None = None,
    aim: str | None = None,
    margin: float = 0.0,
    error: float = ERROR_RATE,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> ListPlan:
    """Say how many visitors a ranking needs until its best items are proven, and what it loses meanwhile.

    Args:
        items: how many there are to choose from, up to 200.
        positions: how long a list is, from 2 to 40: as many items are better than the others.
        rate: how often each of the other items is clicked when it is looked at.
        lift: how much more often the best ones are: 0.1 is 10% more.
        model: how visitors read: "pbm", positions further down are looked at less often, or "cascade", from the top to
            the first click.
        visitors_a_day: to have days too.
        aim: "earn", "both" or "decide"; None: all of them.
        margin: a verdict is enough that no other item attracts more than this part more, such as 0.05.
        error: the probability with which the verdict may be wrong.
        seed: of the rehearsals.
        progress: as of `rankone.plan`.

    >>> found = plan_lists(items=5, positions=2, rate=0.2, lift=1.0, model="cascade", aim="decide")
    >>> print(found.meaning.partition(";")[0])
    2 of 5 items clicked 40% of the times they are looked at, all others 20%
    >>> 300 < found.spans[0].median < 2_000
    True
    """
    items = whole_number("items", items, least=3, most=MOST_ITEMS)
    positions = whole_number("positions", positions, least=2, most=min(items - 1, _MOST_POSITIONS))
    one_of("model", model, MODELS)
    levels = check_plan(rate, lift, visitors_a_day, aim, margin, error, factors={"item": items})
    case = Case((items,), rate, lift, margin)

    def trial(name: str) -> Trial:
        rehearsed = case.rehearsed(name)
        here, there = (_world(model, each, positions) for each in (rehearsed, case))
        time = rehearsed.time_until(error / (positions * (items - positions)))
        times = case.click_time(silence=False) / rehearsed.click_time(silence=False) * _looks(here) / _looks(there)
        gap = there.loss_at_random() / here.loss_at_random()
        return Trial(functools.partial(simulate_ranking, here, name, rehearsed.margin, error), time, times, gap)

    spans = tuple(rehearsed_spans(aim, case, seed, progress, trial))
    return ListPlan(rate, lift, margin, error, visitors_a_day, 0.0, spans, (), levels, positions, model)


def _world(model: str, case: Case, positions: int) -> PBM | Cascade:
    """Return visitors of these items; the best come last, so that ties are not in their favour."""
    attraction = [case.rate] * (case.sizes[0] - positions) + [case.best] * positions
    return PBM(attraction, examined(positions)) if model == "pbm" else Cascade(attraction, positions)


def _looks(world: PBM | Cascade) -> float:
    """Return how many items of a list drawn at random are looked at, on average."""
    return (world.best_value - world.loss_at_random()) / float(world.attraction.mean())


def play_lists(lottery: Any, state: Any, world: Any, evidence: Any, rng: Any, room: Any, lists: int) -> float:
    """Show so many lists, learn and weigh what comes of them; return the clicks lost."""
    allowed, pinned, shown, clicked, cross, nothing = room
    lost = 0.0
    for _ in range(lists):
        kind = _draw(lottery, pinned, allowed, pinned, rng, shown, nothing)
        respond(world, shown, clicked, rng)
        lost += loss(world, shown)
        _weigh(evidence, lottery, allowed, pinned, shown, kind, clicked, cross)
        learn(state, shown, lottery.tag[0], clicked)
    return lost


def simulate_ranking(
    problem: PBM | Cascade, aim: str, margin: float, error: float, seed: int, lists: int
) -> tuple[int | None, float]:
    """Play a ranking until its best items are proven; return after how many lists (None: never) and the clicks lost.

    It is looked at whenever its lottery is renewed.
    """
    (n_items, size), rng = problem.shape, generator(seed, "plan of lists")
    state, world = as_policy(_POLICY).start(n_items, size), problem.start()
    evidence, claims = start_list_evidence(n_items, size, margin), ListClaims(error, n_items, size)
    blank, items = np.zeros(size, np.int64), np.arange(n_items)
    room = np.ones(n_items, bool), blank - 1, blank.copy(), blank.copy(), np.zeros(n_items), np.zeros(0)
    play = compiled(play_lists, __name__, type(state).__module__, type(world).__module__)
    at, lost = 0, 0.0
    while at < lists:
        more = max(1, at // RENEWED)
        shares = list_shares(aim, LIST_EXPLORE[aim], 0.0, proven=False, lists=at, n_items=n_items)
        lottery = start_lottery(believe(state, rng), items, shares, size)
        lost += play(lottery, state, world, evidence, rng, room, more)
        at, standing = at + more, list_standing(evidence, claims)
        if min(standing.doubt, standing.enough_doubt) <= error:
            return at, lost
    return None, lost
