"""What the tests of archives share: an experiment at work, and a database half of which is archived."""

import pytest
from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.live import Database
from rankone.live.operate.archive import archive
from rankone.live.operate.doctor import examine

from .helpers import Audience, Clock, at

LEVELS = {"rows": 3, "cols": 2, "seed": 7}


def live(database, clock, name="homepage", **settings):
    settings = LEVELS | {"policy": "ucb1"} | settings
    return at(clock)(name, db=database, **settings)


def busy(experiment, clock, steps, seed=0):
    """An audience at work; some decisions stay open."""
    audience = Audience(seed=seed, silent=0.1)
    for _ in range(steps):
        audience.step(experiment)
        clock.pass_seconds(1)


def side_by_side(clock, *experiments, robot=False):
    """The same audience for each of several experiments; with a robot, every tenth step has a false click."""
    audiences = [Audience(seed=1, silent=0.1) for _ in experiments]

    def go_on(steps):
        for step in range(steps):
            for audience, experiment in zip(audiences, experiments, strict=True):
                audience.step(experiment)
                if robot and step % 10 == 0:
                    experiment.tell(experiment.ask().id, True, source="robot")
            clock.pass_seconds(1)

    return go_on


def rows_of(database, number=1):
    return database.use(lambda storage: storage.tail(number, 0, 10**6))


def wrong(db, folder=None):
    return [finding for finding in examine(db, folder) if not finding.ok]


def run(*words):
    return CliRunner().invoke(build_app(), [str(word) for word in words])


def refused(*words):
    """What a command says when it cannot."""
    return str(run(*words).exception)


@pytest.fixture
def shop(tmp_path):
    """A database with an archive of half of its events."""
    clock, folder = Clock(), tmp_path / "archives"
    folder.mkdir()
    with Database(tmp_path / "rankone.db", durability="off") as database:
        experiment = live(database, clock)
        busy(experiment, clock, 300)
        list(archive(database, "homepage", folder, 150))
        yield database, experiment, clock, folder
