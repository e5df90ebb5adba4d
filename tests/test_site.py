"""The documentation site: it builds without a warning, needs no network, and its reference leaves nothing out."""

import dataclasses
import inspect
import re
import subprocess
import sys

import pytest

import rankone
from rankone.live.settings import Settings
from rankone.problems import known_families
from rankone.web.server.app import OPERATIONS
from rankone.web.server.limits import Limits
from tests.conftest import alone
from tests.own_policies import own_policies
from tests.test_docs import ROOT
from tests.web.browser import DESKTOP, PHONE, browser, needs_chromium  # noqa: F401  a fixture

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
        ("http", lambda: [f"{each.method} {each.path}" for each in OPERATIONS if each.path.startswith("/v1")]),
    ],
    ids=["families", "click models and log formats", "limits", "environment variables", "HTTP operations"],
)
def test_every_named_thing_has_its_row(reference, page, names):
    missing = [name for name in names() if f"\n| `{name}` |" not in reference[page]]
    assert not missing, f"docs/reference/{page}.md lacks {missing}"


def environment_variables():
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), ROOT / ".ci" / "run"]
    return sorted({name for file in files for name in re.findall(r"\bRANKONE_[A-Z_]+[A-Z]", file.read_text())})


def test_every_setting_of_an_experiment_is_explained():
    texts = (inspect.getdoc(kind) for kind in (rankone.Experiment, rankone.Ranking))
    explained = [name for text in texts for name in re.findall(r"^    (\w+): ", text, re.MULTILINE)]
    given = {field.name for field in dataclasses.fields(Settings)} - {"past"}  # nobody gives that one
    assert given <= set(explained)


def test_a_new_page_is_on_the_site_by_itself(generated):
    index = "```{toctree}\n:caption: How to\n\nsweeps\n...\n```\n"
    shelved = generated.shelve(index, ["index", "sweeps", "brand-new", "reference/index"])
    assert shelved == "```{toctree}\n:caption: How to\n\nsweeps\nbrand-new\n```\n"


@pytest.fixture(scope="module")
def site(shared_folder):
    """The site, built once for all processes that run tests; a warning fails it."""
    folder = shared_folder / "site"
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(folder)]
    with alone(shared_folder / "site.lock"):
        if not (folder / "built").exists():
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            (folder / "built").touch()
    return folder


def test_programs_find_every_page(site):
    listed = (site / "llms.txt").read_text()
    for page in DOCS.glob("*.md"):
        assert f"({page.stem}.html): " in listed
    assert "- [Goals: orders, revenue, guardrails](goals.html): An experiment can have several goals: each" in listed


def test_the_site_builds_without_a_warning_and_needs_no_network(generated, site):
    pages = {page.relative_to(site).as_posix(): page.read_text() for page in site.rglob("*.html")}
    assert {f"{page.stem}.html" for page in DOCS.glob("*.md")} <= set(pages)
    reference = "\n".join(text for name, text in pages.items() if name.startswith("reference/"))
    missing = [name for name in generated.public_names() if f'id="{name}"' not in reference]
    assert not missing, f"not on the site: {missing}"
    for page in site.rglob("*.html"):
        pictures = re.findall(r'<img[^>]+src="(?!https?:|data:)([^"]+)"', page.read_text())
        assert all((page.parent / picture).is_file() for picture in pictures), page
    fetched = {name: FETCHED.findall(text) + FETCHED_BY_STYLE.findall(text) for name, text in pages.items()}
    fetched |= {style.name: FETCHED_BY_STYLE.findall(style.read_text()) for style in site.rglob("*.css")}
    assert not {name: found for name, found in fetched.items() if found}


def test_figures_in_tables_are_not_broken_over_lines(generated):
    assert generated.whole_figures("| 0.51 ± 0.02 | a ± b |") == "| 0.51\xa0±\xa00.02 | a ± b |"
    assert generated.whole_figures("about 0.51 ± 0.02") == "about 0.51 ± 0.02"


WIDE = """() => [...document.querySelectorAll("article table")].filter(table => {
  const box = table.closest(".table-wrapper, .output, .highlight") || table.parentElement, cut = table.scrollWidth > box.clientWidth;
  return cut && !["auto", "scroll"].includes(getComputedStyle(box).overflowX);
}).length + (document.documentElement.scrollWidth > document.documentElement.clientWidth ? 1 : 0)"""
BROKEN = """() => [...document.querySelectorAll("article td")].filter(cell => {
  const text = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).nextNode(), range = document.createRange();
  if (!text || !/^\\s*[\\d.,]+\\s±\\s[\\d.,]+\\s*$/.test(text.data)) return false;
  range.selectNodeContents(text);
  return new Set([...range.getClientRects()].map(box => box.top)).size > 1;
}).map(cell => cell.innerText)"""


@needs_chromium
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_wide_tables_scroll_and_keep_their_figures_whole(site, browser, size):  # noqa: F811  a fixture
    page = browser.new_page(viewport=size)
    tables = figures = 0
    for file in (site / f"{source.stem}.html" for source in sorted(DOCS.glob("*.md"))):
        text = file.read_text()
        if "<table" in text:
            tables, figures = tables + 1, figures + text.count("\xa0±\xa0")
            page.goto(file.as_uri())
            assert page.evaluate(WIDE) == 0, f"{file.name} is wider than its page"
            assert page.evaluate(BROKEN) == [], file.name
    page.close()
    assert (tables > 20, figures > 100) == (True, True), "there was something to look at"
