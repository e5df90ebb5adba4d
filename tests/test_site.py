"""The documentation site: it builds without a warning, needs no network, and its reference leaves nothing out."""

import dataclasses
import inspect
import re
import subprocess
import sys

import pytest

import rankone
from rankone.problems import known_families
from rankone.serving.settings import Settings
from rankone.web.server.limits import Limits
from tests.own_policies import own_policies
from tests.test_docs import ROOT

DOCS = ROOT / "docs"
# What a browser fetches by itself when it opens a page; links that people follow may lead anywhere.
FETCHED = re.compile(r"""<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=["'](?:https?:)?//[^"']*""")
FETCHED_BY_STYLE = re.compile(r"""(?:url\(\s*|@import\s+)["']?(?:https?:)?//[^"')\s]*""")


@pytest.fixture(scope="module")
def generated():
    sys.path.insert(0, str(DOCS))
    try:
        import generated
    finally:
        sys.path.remove(str(DOCS))
    return generated


@pytest.fixture(scope="module")
def reference(generated):
    """The reference as Sphinx reads it, by page."""
    return {page.stem: generated.fill(page.read_text()) for page in (DOCS / "reference").glob("*.md")}


def test_every_public_name_is_in_the_reference(generated, reference):
    text = "\n".join(reference.values())
    public = {f"rankone.{name}" for name in rankone.__all__}
    public |= {f"rankone.errors.{kind.__name__}" for kind in vars(rankone.errors).values() if is_error(kind)}
    public |= {f"rankone.clicks.{name}" for name in rankone.clicks.__all__} | set(generated.public_names())
    by_module = set(re.findall(r"^\.\. automodule:: (\S+)$", text, re.MULTILINE))
    documented = set(re.findall(r"^\.\. (?:auto|py:)\w+:: (\S+)$", text, re.MULTILINE))
    missing = {name for name in public - documented if name.rpartition(".")[0] not in by_module}
    assert not missing, f"not in docs/reference: {sorted(missing)}"


def is_error(value):
    return inspect.isclass(value) and issubclass(value, rankone.errors.RankoneError)


def test_every_public_name_explains_itself(generated):
    silent = [name for name in generated.public_names() if not generated.sentence_of(name)]
    assert not silent, f"no docstring: {silent}"


def test_every_command_and_option_is_in_the_reference(generated, reference):
    sections = dict(re.findall(r"^##+ (rankone.*?)\n(.*?)(?=^##|\Z)", reference["commands"], re.MULTILINE | re.DOTALL))
    for name, command in generated.every_command():
        assert name in sections, f"docs/reference/commands.md lacks {name}"
        assert command.help, f"{name} has no help"
        for parameter in command.params:
            row = f"| {generated.spelling(parameter)} | "
            assert row in sections[name], f"docs/reference/commands.md lacks {row} of {name}"
            assert parameter.help, f"{parameter.name} of {name} has no help"


def test_every_policy_and_its_parameters_are_in_the_reference(reference):
    rows = dict(re.findall(r"^\| \{py:obj\}`([\w-]+) <rankone\.[\w.]+>` \| (.*)$", reference["policies"], re.MULTILINE))
    for name in own_policies("all"):
        assert name in rows, f"docs/reference/policies.md lacks {name}"
        for field in dataclasses.fields(rankone.known_policies()[name]):
            assert f"{field.name}=" in rows[name], f"docs/reference/policies.md lacks {field.name} of {name}"


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("problems", lambda: [family.spelling for family in known_families().values()]),
        ("clicks", lambda: [*rankone.clicks.MODELS.known(), *rankone.clicks.FORMATS.known()]),
        ("settings", lambda: [field.name for field in dataclasses.fields(Limits)]),
        ("settings", lambda: environment_variables()),
    ],
    ids=["families", "click models and log formats", "limits", "environment variables"],
)
def test_every_named_thing_has_its_row(reference, page, names):
    missing = [name for name in names() if f"\n| `{name}` |" not in reference[page]]
    assert not missing, f"docs/reference/{page}.md lacks {missing}"


def environment_variables():
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), ROOT / ".ci" / "run"]
    return sorted({name for file in files for name in re.findall(r"\bRANKONE_[A-Z_]+[A-Z]", file.read_text())})


def test_every_setting_of_an_experiment_is_explained():
    explained = re.findall(r"^    (\w+): ", inspect.getdoc(rankone.Experiment), re.MULTILINE)
    given = {field.name for field in dataclasses.fields(Settings)} - {"past"}  # nobody gives that one
    assert given <= set(explained)


def test_a_new_page_is_on_the_site_by_itself(generated):
    index = "```{toctree}\n:caption: How to\n\nsweeps\n...\n```\n"
    shelved = generated.shelve(index, ["index", "sweeps", "brand-new", "reference/index"])
    assert shelved == "```{toctree}\n:caption: How to\n\nsweeps\nbrand-new\n```\n"


def test_the_site_builds_without_a_warning_and_needs_no_network(generated, tmp_path):
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = {page.relative_to(tmp_path).as_posix(): page.read_text() for page in tmp_path.rglob("*.html")}
    assert {f"{page.stem}.html" for page in DOCS.glob("*.md")} <= set(pages)
    reference = "\n".join(text for name, text in pages.items() if name.startswith("reference/"))
    missing = [name for name in generated.public_names() if f'id="{name}"' not in reference]
    assert not missing, f"not on the site: {missing}"
    fetched = {name: FETCHED.findall(text) + FETCHED_BY_STYLE.findall(text) for name, text in pages.items()}
    fetched |= {style.name: FETCHED_BY_STYLE.findall(style.read_text()) for style in tmp_path.rglob("*.css")}
    assert not {name: found for name, found in fetched.items() if found}


def test_figures_in_tables_are_not_broken_over_lines(generated):
    assert generated.whole_figures("| 0.51 ± 0.02 | a ± b |") == "| 0.51\xa0±\xa00.02 | a ± b |"
    assert generated.whole_figures("about 0.51 ± 0.02") == "about 0.51 ± 0.02"
