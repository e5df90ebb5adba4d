"""One word for one thing (docs/glossary.md): words that made readers stumble stay out of what people read.

`STUMBLED_OVER` is looked for everywhere: pages, sources, docstrings. `BANNED` is looked for in what people read: every
string of the files in `READ` that is no docstring. A file is added once its texts are rewritten, a phrase once nothing
says it any more.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_docs import ROOT

# What was written, and what to write. Beside it stand the words of `docs/glossary.md`.
STUMBLED_OVER = {
    r"\bforetell": "predict",
    r"harms no other": "does not affect the others",
    r"\bs a run\b": "s per run",
    r"\ba line a policy\b": "a line for each policy",
    r"\b(?:decisions|seconds|steps) a (?:run|second)\b": "per run, per second",
    r"\bone a core\b": "one per core",
    r"\b(?:one|several|\d) (?:outcomes?|rows?|runs?|draws?) a (?:pair|point|query|problem)\b": "per pair, per point, ...",
    r"\b(?:had to have|needed|needs) news\b": "had to wait for outcomes",
    r"times of (?:5|five)": "with 80% power",
    r"(?i)root of (?:all|the) randomness": "seed of the random numbers",
    r"(?i)\b(?:one|a) row an? (?:impression|cell|item|check|package|test|combination)\b": "one row per ...",
    r"\b1 (?:clicks|decisions|rows|visitors|visits|runs)\b": "1 click: rankone.specs.amount counts",
    r", say[\"'.;]": "try VALUE, or: for example",
    r"slip of the pen": "typo",
    r"\bin earnest\b": "in production",
    r"study that still runs[^.]* is told": "is reported",
}
SRC = ROOT / "src" / "rankone"

#: What we no longer say (a pattern, whole words) and what we say instead.
BANNED = {
    "uniform (split|test)|even (split|test)": "equal split",
    "acts? together|(is|are) no product|levels are no": "interact, interaction",
    "silence": "not clicked",
    r"voided|(?<![.\"`])(?-i:void)(?![\"`:])": "cancelled",  # but for the name `void`
    "not learned": "ignored",
    "come back|comes back|came back": "are reported",
    "alike": "equally, the same",
    "rings?|rang": "an alarm is raised",
    "anew": "again, from the start",
    "as (it|they) (is|are|was|were)": "unchanged",
    "so many|such an?": "say the number or the thing",
    "that of|those of": "repeat the noun",
    "none is|which is none": "no ... is",
    "by itself": "automatically",
    "otherwise clicked|clicked otherwise": "clicked at a different rate",
    "1 times as|% (fewer|more) clicks": "+17% (+2% to +33%)",
    "wrong with probability": "95% sure",
    "whoever|nobody asks": "anyone who",
    "[0-9]+ %": "5%, without a space",
}

#: Files and folders, below src/rankone, whose strings were rewritten.
READ = ["wording", "notebook.py", "live", "web", "client", "errors.py"]
READ += ["analysis", "clicks", "simulation", "problems", "policies", "charts", "pages", "paper", "cli"]
HELP = ("cli/data", "cli/live", "cli/service", "cli/study", "web/server/routes")  # docstrings of functions are help


def files() -> list[Path]:
    """Return the Python files that are looked at."""
    each = [SRC / name for name in READ]
    return sorted(path for part in each for path in ([part] if part.suffix else part.rglob("*.py")))


def strings(source: str, helps: bool = False) -> Iterator[tuple[int, str]]:
    """Return the strings of a Python file that people may read, with their lines: no names; docstrings if they help."""
    tree = ast.parse(source)
    silent = (ast.Module, ast.ClassDef) if helps else (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, silent) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in docstrings:
            continue
        if " " in node.value.strip():  # a single word is an identifier, a key or a kind
            yield node.lineno, node.value


def page_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Return the lines of a file of the page, without comments."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        yield number, re.sub(r"(^|\s)//.*|<!--.*?-->", "", line)


def faults(text: str) -> list[str]:
    """Return the banned words in a text, each with what to say instead."""
    spaced = re.sub(r"\s+", " ", text)
    return [
        f"{hit.group()!r}: say {instead!r}"
        for banned, instead in BANNED.items()
        for hit in [re.search(rf"(?<![\w-])({banned})(?![\w-])", spaced, re.IGNORECASE)]
        if hit
    ]


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SRC)))
def test_old_words_stay_out_of_what_people_read(path):
    read = strings(path.read_text(), str(path.relative_to(SRC)).startswith(HELP))
    found = [f"line {line}: {fault} in {text!r}" for line, text in read for fault in faults(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", sorted((SRC / "web" / "page").glob("*.[jh]*")), ids=lambda path: path.name)
def test_old_words_stay_out_of_the_page(path):
    found = [f"line {line}: {fault}" for line, text in page_lines(path) for fault in faults(text)]
    assert not found, "\n".join(found)


def test_the_old_words_are_noticed():
    assert faults("an even test of all combinations") == ["'even test': say 'equal split'"]
    assert faults("12 decisions were voided")
    assert faults("5 % of them")
    assert not faults("they interact; the alarm is raised during the experiment; `void`, counts.void")
    assert list(strings("def f():\n    'help it'", helps=True)) == [(2, "help it")]
    assert not list(strings("def f():\n    'no help'"))


EVERYWHERE = {
    "src": (".py", ".js", ".html"),
    "docs": (".md",),
    "README.md": (".md",),
    "CONTRIBUTING.md": (".md",),
}


def all_files():
    for place, endings in EVERYWHERE.items():
        found = [ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*"))
        yield from (file for file in found if file.suffix in endings and "_build" not in file.parts)


@pytest.mark.parametrize("words", STUMBLED_OVER)
def test_words_do_not_come_back(words):
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in all_files()
        for line in re.sub(r"<!-- bench.*?<!-- end -->", "", file.read_text(), flags=re.DOTALL).splitlines()
        if re.search(words, line)
    ]
    assert not found, f"write '{STUMBLED_OVER[words]}'"


def test_the_list_would_notice():
    assert all(
        re.search(
            words,
            "foretells harms no other s a run a line a policy decisions a run one a core one outcome a pair one row an item 1 clicks needed news 4 times of 5 "
            'Root of all randomness "pass 8, say" slip of the pen in earnest a study that still runs is told',
        )
        for words in STUMBLED_OVER
    )


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def prose(page: str) -> str:
    """Return what a page says: no blocks, no names in backticks, no tables that a benchmark writes."""
    left = re.sub(r"^```.*?^```$|^<!-- written by.*?^<!-- end", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]+`", "", left)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_old_words_stay_out_of_the_documentation(page):
    assert not faults(prose(page.read_text()))


def test_prose_is_what_is_left_of_a_page():
    assert faults(prose("`void` is\n\n```sh\nrankone void-open\n```\n\nvoided")) == ["'voided': say 'cancelled'"]
