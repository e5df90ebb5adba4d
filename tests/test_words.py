"""One word for one thing (docs/glossary.md): the words we no longer use stay out of what people read.

Looked at: every string of the files in `READ` that is no docstring, and the texts of the page. A file is added once its
texts are rewritten; a phrase is added to `BANNED` once nothing says it any more.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "rankone"

#: What we no longer say (a pattern, whole words) and what we say instead.
BANNED = {
    "uniform (split|test)|even (split|test)": "equal split",
    "acts? together|(is|are) no product|levels are no": "interact, interaction",
    "silence": "not clicked",
    "voided|void": "cancelled",
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
}

#: Files and folders, below src/rankone, whose strings were rewritten.
READ = ["analysis/wording.py", "wording"]


def files() -> list[Path]:
    """Return the Python files that are looked at."""
    each = [SRC / name for name in READ]
    return sorted(path for part in each for path in ([part] if part.suffix else part.rglob("*.py")))


def strings(source: str) -> Iterator[tuple[int, str]]:
    """Return the strings of a Python file that people may read, with their lines: no docstrings, no names."""
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
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
    found = [f"line {line}: {fault} in {text!r}" for line, text in strings(path.read_text()) for fault in faults(text)]
    assert not found, "\n".join(found)


def test_the_old_words_are_found():
    assert faults("an even test of all combinations") == ["'even test': say 'equal split'"]
    assert not faults("they interact; the alarm is raised during the experiment")
