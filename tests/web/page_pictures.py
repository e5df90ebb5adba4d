"""Pictures of the page for the documentation: ``python -m tests.web.page_pictures`` draws them into docs/images.

Each is an experiment whose visitors are simulated, and the parts of its page that the documentation speaks of.
"""

import math
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from rankone.live import Database
from rankone.numerics.seeds import generator

from ..live.helpers import Clock, at
from .browser import ARGUMENTS, CHROMIUM, shown
from .helpers import running

IMAGES = Path(__file__).parents[2] / "docs" / "images"
RATES = {
    "Save time": 0.9, "Work less": 0.6, "A calm week": 0.5, "beach": 0.8, "desk": 0.5, "dog": 0.6, "Buy now": 0.6,
    "Try it": 0.45,
}  # fmt: skip
DAYS = 14


def main() -> None:
    """Play, and draw."""
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "rankone.db"
        with Database(db, durability="off") as database:
            front(database)
            factors(database)
            alarm(database)
            segments(database)
        with running(db) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = browser.new_context(viewport={"width": 1180, "height": 900}).new_page()
            page.goto(url)
            for name in ("factors", "alarm", "segments"):
                shown(page, name)
                page.wait_for_timeout(1000)  # charts are drawn
                page.screenshot(path=IMAGES / f"page-{name}.png", full_page=True)
            for name, size in (("page", (1180, 1140)), ("page-phone", (390, 1180))):
                page.set_viewport_size({"width": size[0], "height": size[1]})
                shown(page, "front page")
                page.wait_for_timeout(1000)
                page.screenshot(
                    path=IMAGES / f"{name}.png",
                    clip={"x": 0, "y": 0, "width": size[0], "height": size[1]},
                    full_page=True,
                )
            browser.close()


class Visitors:
    """Visitors, who come in the days until now, and more of them by day."""

    def __init__(self, name, count):
        self.rng = generator(4, name)
        self.pause = 1.6 * 20 * DAYS * 86_400 / count  # on average; there are more of the short ones
        self.clock = Clock(round((time.time() - DAYS * 86_400) * 1e6))

    def visit(self, experiment, count, rate, **said):
        """Let so many come; `rate` is the click rate of what somebody sees."""
        for _ in range(0, count, 20):
            made = experiment.ask(20, **said)
            experiment.tell_many([(each, bool(self.rng.random() < rate(each.levels))) for each in made])
            hour = self.clock.now / 3.6e9 % 24
            self.clock.pass_seconds(self.pause * (1.0 + 0.8 * math.cos(math.tau * (hour - 2) / 24)))


def factors(database):
    """Three factors, decided."""
    visitors = Visitors("factors", 3_000)
    levels = {"headline": [*RATES][:3], "image": [*RATES][3:6], "button": [*RATES][6:]}
    experiment = at(visitors.clock)("factors", factors=levels, aim="decide", db=database, seed=1)
    visitors.visit(experiment, 3_000, product)


def front(database):
    """Two factors, decided, as the README shows them."""
    visitors = Visitors("front", 12_000)
    levels = {"headline": [*RATES][:3], "image": [*RATES][3:6]}
    experiment = at(visitors.clock)("front page", factors=levels, aim="both", db=database, seed=1)
    visitors.visit(experiment, 12_000, lambda levels: 0.2 * product(levels))


def product(levels):
    """The click rate of a combination."""
    found = 1.0
    for name in levels.values():
        found *= RATES[name]
    return found


def alarm(database):
    """What is best changes, and the experiment begins anew."""
    visitors = Visitors("alarm", 8_000)
    settings = {"aim": "both", "watch": {"change": "restart"}}
    experiment = at(visitors.clock)("alarm", ["summer", "winter"], ["left", "right"], db=database, seed=1, **settings)
    for liked in ("summer", "winter"):
        visitors.visit(experiment, 4_000, likes({liked: 0.6, "left": 0.8, "right": 0.5}))


def likes(rates):
    """The click rate of two levels, of which those that are not named have 0.3."""
    return lambda levels: rates.get(levels["row"], 0.3) * rates[levels["col"]]


def segments(database):
    """Phones and desktops like other headlines."""
    visitors = Visitors("segments", 6_000)
    settings = {"aim": "decide"}
    experiment = at(visitors.clock)(
        "segments", ["headline A", "headline B"], ["image 1", "image 2"], db=database, seed=1, **settings
    )
    for turn in range(300):
        device, liked = [("phone", "headline A"), ("desktop", "headline B")][turn % 2]
        rate = likes({liked: 0.6, "image 1": 0.9, "image 2": 0.6})
        visitors.visit(experiment, 20, rate, context={"device": device})


if __name__ == "__main__":
    main()
