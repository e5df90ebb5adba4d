"""Words that made readers stumble, and do not come back: in pages, help texts, errors and docstrings alike."""

import re

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
    r"times of (?:5|five)": "with 80 % power",
    r"(?i)root of (?:all|the) randomness": "seed of the random numbers",
    r"(?i)\b(?:one|a) row an? (?:impression|cell|item|check|package|test|combination)\b": "one row per ...",
    r"\b1 (?:clicks|decisions|rows|visitors|visits|runs)\b": "1 click: rankone.specs.amount counts",
    r", say[\"'.;]": "try VALUE, or: for example",
    r"slip of the pen": "typo",
    r"\bin earnest\b": "in production",
    r"study that still runs[^.]* is told": "is reported",
}
READ = {"src": (".py", ".js", ".html"), "docs": (".md",), "README.md": (".md",), "CONTRIBUTING.md": (".md",)}


def files():
    for place, endings in READ.items():
        found = [ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*"))
        yield from (file for file in found if file.suffix in endings and "_build" not in file.parts)


@pytest.mark.parametrize("words", STUMBLED_OVER)
def test_words_do_not_come_back(words):
    found = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in files()
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
