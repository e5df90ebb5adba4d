"""What every chart must do. A new file in `rankone.charts` is tested by itself, through the example of its function."""

import doctest
import importlib
import inspect
import json
import pkgutil

import pytest

import rankone.charts
from rankone.charts.chart import Chart


def chart_functions():
    """Every public function of the folder that says it returns a chart."""
    for module in pkgutil.iter_modules(rankone.charts.__path__):
        loaded = importlib.import_module(f"rankone.charts.{module.name}")
        for name, function in inspect.getmembers(loaded, inspect.isfunction):
            returned = inspect.get_annotations(function).get("return")
            if function.__module__ == loaded.__name__ and returned in ("Chart", Chart) and not name.startswith("_"):
                yield function


@pytest.fixture(params=chart_functions(), ids=lambda function: function.__name__)
def chart(request):
    """The chart that the docstring's example makes."""
    (example,) = doctest.DocTestFinder(recurse=False).find(request.param, request.param.__name__)
    assert example.examples, f"{request.param.__name__} needs an example in its docstring that ends in `chart = ...`"
    assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
    assert isinstance(example.globs["chart"], Chart)
    return example.globs["chart"]


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<svg")])
def test_is_drawn_in_every_format(chart, tmp_path, suffix, start):
    assert chart.save(tmp_path / f"chart{suffix}").read_bytes().startswith(start)


def test_holds_its_data(chart):
    """A chart with the address of its data, instead of the data, would be empty at a colleague's."""
    spec = chart.altair.to_dict()
    assert all(len(rows) > 0 for rows in spec["datasets"].values())
    assert '"url"' not in json.dumps(spec)


def test_can_be_read_without_colour(chart):
    """What colours tell apart, dashes, shapes or written numbers tell apart too."""
    spec = json.dumps(chart.altair.to_dict())
    assert '"color"' not in spec or any(f'"{other}"' in spec for other in ("strokeDash", "shape", "text"))
