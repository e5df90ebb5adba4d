"""An experiment whose policy this process does not know is looked at, exported and stopped; others are not harmed."""

import pytest
from typer.testing import CliRunner

from rankone.cli import build_app
from rankone.live import Ask, Database, Experiment
from rankone.live.operate.doctor import examine
from rankone.live.operate.export import decisions_table
from rankone.policies import base
from tests.levels import row_of

from .helpers import error_of, saved, start

SAYS = "policy not known here: import the module that defines it"
run = CliRunner()


@pytest.fixture
def forget(monkeypatch):
    """Make a policy unknown, as it is in a process that did not import its module; call the answer to import it."""

    def forget(name):
        kinds = base._POLICIES._things
        kind = kinds[name]
        monkeypatch.delitem(kinds, name)
        return lambda: monkeypatch.setitem(kinds, name, kind)

    return forget


@pytest.fixture
def mixed(db, monkeypatch):
    """A database with an experiment of uniform, snapshots included, and one of ucb1."""
    monkeypatch.setattr("rankone.live.commit.transactions._SNAPSHOT_EVERY", 20)
    for name, policy in (("own", "uniform"), ("ordinary", "ucb1")):
        with start(db, policy, name=name) as experiment:
            for decision in experiment.ask(30):
                experiment.tell(decision.id, row_of(decision) == 0)
    return db


def test_it_is_listed_reported_and_exported_like_the_others(mixed, forget):
    with Experiment("own", db=mixed) as experiment:
        before, table = experiment.report(), decisions_table(experiment.database, "own")
    forget("uniform")
    with Database(mixed, read_only=True) as database:
        report = Experiment("own", db=database).report()
        assert (report.policy, report.policy_known) == ("uniform", False)
        assert report.factors[0].levels == before.factors[0].levels
        assert report.warnings[-1].lower() == f"{SAYS}. until then it takes no requests."
        assert Experiment("ordinary", db=database).report().policy_known
        assert decisions_table(database, "own").equals(table)
    listed = run.invoke(build_app(), ["experiments", str(mixed), "--json"])
    assert listed.exit_code == 0
    assert '"ordinary"' in listed.stdout
    assert SAYS[1:] in listed.stdout


def test_the_doctor_finds_nothing_wrong_and_says_what_it_left_out(mixed, forget):
    forget("uniform")
    findings = examine(mixed)
    assert all(finding.ok for finding in findings)
    (replayed,) = [finding for finding in findings if (finding.experiment, finding.check) == ("own", "replay")]
    assert SAYS in replayed.detail
    assert replayed.verdict == "left out"


def test_asking_is_refused_without_harm_to_those_who_wait_together(mixed, forget):
    import_it = forget("uniform")
    with Database(mixed) as database:
        own, ordinary = (Experiment(name, db=database) for name in ("own", "ordinary"))
        assert "got uniform. Import the module that defines it" in str(error_of(own.ask))
        assert "Import the module" in str(own.do([Ask(1), Ask(2)])[1])
        assert "Import the module" in str(error_of(own.add_level, "row", "new"))
        assert ordinary.ask().number == 30
        own.settle()
        own.stop({"row": "row 1", "col": "col 1"})
        assert own.report().stopped == "by hand"
        import_it()
        assert own.ask()["row"] == "row 1"  # known by now: nothing has to be opened again
        own.resume()
        state = saved(own)
    with Experiment("own", db=mixed) as again:
        assert saved(again) == state  # and its snapshots were not thrown away for nothing
