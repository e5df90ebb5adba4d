"""Settings are declared once: whatever is declared is everywhere, and a new one takes one line."""

import dataclasses
import inspect
import json
import subprocess
import sys

import numpy as np
import pytest
import typer
from docs.generated import experiment_settings

import rankone
from rankone.cli import build_app
from rankone.errors import InputError
from rankone.evidence.steering import AIMS
from rankone.live.settings import GROUPS, SETTINGS, RemoteWishes, Settings, Stopping, parsed_settings
from rankone.web.server.schemas.answers import ExperimentAnswer
from rankone.web.server.schemas.bodies import NewExperiment

from .helpers import error_of, start

REMOTE = [each for each in SETTINGS if each.remote]


def fields(model):
    """The fields of a model by their paths; those of its groups behind a dot."""
    for name, field in model.model_fields.items():
        inner = [kind for kind in getattr(field.annotation, "__args__", ()) if hasattr(kind, "model_fields")]
        yield from (f"{name}.{own}" for kind in inner for own in kind.model_fields) if inner else (name,)


def test_every_setting_is_everywhere():
    commands = typer.main.get_command(build_app()).commands
    options = {text for parameter in commands["create"].params for text in parameter.opts}
    reference = experiment_settings()
    for each in SETTINGS:
        kind = rankone.Ranking if each.name in ("positions", "gentle") else rankone.Experiment
        assert (each.group or each.name) in inspect.signature(kind).parameters
        assert each.help in " ".join(kind.__doc__.split()) or each.name == "positions"
        assert f"--{each.option}" in options
        assert f"`{each.path}`" in reference
        assert (not each.remote) == (
            (each.group or each.name) not in inspect.signature(rankone.Client.create).parameters
        )
    paths = {each.path for each in REMOTE}
    assert paths <= set(fields(NewExperiment))
    assert paths - {"seed"} <= set(fields(ExperimentAnswer))
    assert [each.path for each in SETTINGS if not each.remote] == ["prior.counts", "prior.weight"]


def test_names_agree():
    assert {*RemoteWishes.__annotations__, "prior", "policy"} == {each.group or each.name for each in SETTINGS} | {
        "factors"
    }
    assert set(next(each for each in SETTINGS if each.name == "aim").kind.choices) == set(AIMS)
    assert len({each.option for each in SETTINGS}) == len(SETTINGS)
    assert len(inspect.signature(rankone.Experiment).parameters) <= 18
    for each in SETTINGS:
        kind = GROUPS.get(each.group, Settings)
        assert each.name in {field.name for field in dataclasses.fields(kind)}
        each.check(each.example)
        if each.default is not None:
            each.check(each.default)


def test_numbers_of_numpy_are_kept_as_plain_ones():
    asked = parsed_settings({"explore": np.float32(0.5), "stopping": {"margin": np.int64(0)}})
    assert json.dumps(asked) == '{"explore": 0.5, "stopping": {"margin": 0.0}}'


def test_a_group_is_a_value_or_a_dictionary(sqlite_db):
    whole, part = {"error": 0.01, "margin": 0.1, "auto": True}, {"margin": 0.1}
    with start(sqlite_db, stopping=Stopping(**whole)) as experiment:
        assert experiment.settings.stopping == Stopping(**whole)
        assert Settings.of_note(json.loads(experiment.settings.note())) == experiment.settings
    for same in (whole, part, Stopping(**whole), {"auto": False, "error": None}):
        start(sqlite_db, stopping=same).close()
    assert "stopping.error 0.01, with which experiment" in str(
        error_of(start, sqlite_db, stopping=Stopping(margin=0.1))
    )


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"stoping": {}}, "a setting of an experiment, but got stoping. Did you mean stopping?"),
        (
            {"stopping": 0.05},
            "stopping as a dictionary of error, margin, decide, auto, but got 0.05. Try stopping={'error': 0.05}",
        ),
        ({"stopping": {"eror": 1}}, "stopping with error, margin, decide, auto, but got eror. Did you mean error?"),
        ({"stopping": {"error": 1}}, "error above 0 and at most 0.5, but got 1. Try stopping={'error': 0.05}"),
        ({"stopping": {"auto": 1}}, "auto as True or False, but got 1. Try stopping={'auto': True}"),
        (
            {"watch": {"change": "panic"}},
            "change as one of restart, warn, ignore, but got panic. Try watch={'change': 'restart'}",
        ),
        (
            {"outcomes": {"window": -1}},
            "window in seconds above 0 and at most 31,622,400, but got -1. Try outcomes={'window': 600}",
        ),
        ({"control": {"share": 0.2}}, "the levels of a control, but got none. Try control={'levels': ...}"),
    ],
)
def test_one_style_of_error(wishes, message):
    with pytest.raises(InputError) as refused:
        parsed_settings(wishes)
    assert str(refused.value) == f"Expected {message}" + "." * (message[-1] != "?")


NEW = """
import json, sys, importlib.abc, importlib.util, inspect

HOME = importlib.util.find_spec("rankone.live.settings").origin
LINE = 'class Watch:\\n    quiet: str = declare(kind.choice("day", "night"), "Quiet", "When to be quiet.", "night")\\n'


class WithOneLineMore(importlib.abc.SourceLoader):
    def get_filename(self, name): return HOME + "new"
    def get_data(self, path): return open(HOME).read().replace("class Watch:\\n", LINE).encode()


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "rankone.live.settings":
            return importlib.util.spec_from_loader(name, WithOneLineMore())


sys.meta_path.insert(0, Finder())
import typer
import rankone
from docs.generated import experiment_settings
from rankone.cli import build_app
from rankone.live.settings import SETTINGS, Settings
from rankone.web.server.schemas.bodies import NewExperiment

with rankone.Experiment("new", 2, 2, "ucb1", db=None, watch={"quiet": "day"}) as experiment:
    found = [Settings.of_note(json.loads(experiment.settings.note())).watch.quiet]
body = {"name": "x", "watch": {"quiet": "day"}}
found.append(NewExperiment(**body).model_dump(exclude_none=True) == body)
found.append("--quiet" in [parameter.opts[0] for parameter in typer.main.get_command(build_app()).commands["create"].params])
found.append("watch.quiet" in experiment_settings())
found.append(" ".join(rankone.Experiment.__doc__.split()).count("When to be quiet."))
found.append([each.to_dict()["choices"] for each in SETTINGS if each.name == "quiet"])
print(json.dumps(found))
"""


def test_a_new_setting_is_one_line():
    done = subprocess.run([sys.executable, "-c", NEW], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["day", True, True, True, 1, [["day", "night"]]]
