"""Every module, name and file of the project that a text mentions is there: pages, docstrings, comments and errors."""

import functools
import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
# CHANGELOG.md is left out: it may say what something was called before. So may these:
OLD = [Path(__file__).relative_to(ROOT).as_posix()]
TEXTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml")),
    *(
        file
        for folder in ("docs", "benchmarks")
        for file in (ROOT / folder).rglob("*.md")
        if "_build" not in file.parts
    ),
    *(file for folder in ("src", "docs", "benchmarks", "tests") for file in (ROOT / folder).rglob("*.py")),
]
NAME = re.compile(r"(?<![\w./@-])rankone(?:\.[A-Za-z_]\w*)+")
FILE = re.compile(r"(?<![\w./-])(?:[a-z_][\w-]*/)+[a-z_][\w-]*\.(?:py|js|md|toml|css|html)\b")
NOT_NAMES = {  # files and a host, and a slip that is tested
    *("rankone.db", "rankone.db.before", "rankone.backup", "rankone.toml", "rankone.service", "rankone.example"),
    "rankone.clicks.modle",
    *("rankone.ask", "rankone.consent", "rankone.track"),  # JavaScript's
}
NOT_FILES = re.compile(r"out/|docs/_build/|(.*/)?my_\w+\.py$")  # what commands write, what a recipe tells to write


@functools.cache
def is_there(name: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one."""
    module, words = "rankone", name.split(".")[1:]
    while words and importlib.util.find_spec(f"{module}.{words[0]}"):
        module += f".{words.pop(0)}"
        if not (SOURCE / module.replace(".", "/")).is_dir():
            break
    found = importlib.import_module(module)
    for word in words:
        found = getattr(found, word, None)
    return found is not None


def missing(text: str, home: Path = ROOT) -> list[str]:
    """What a text names that is not there; a file may be named from the top, from the package or from its own folder."""
    names = sorted(set(NAME.findall(text)) - NOT_NAMES)
    files = sorted(file for file in set(FILE.findall(text)) if not NOT_FILES.match(file))
    folders = ROOT, SOURCE, SOURCE / "rankone", home
    return [name for name in names if not is_there(name)] + [
        file for file in files if not any((folder / file).exists() for folder in folders)
    ]


def test_what_a_text_names_is_there():
    texts = {text.relative_to(ROOT).as_posix(): text for text in TEXTS}
    found = {name: missing(text.read_text(), text.parent) for name, text in texts.items() if name not in OLD}
    assert not {name: wrong for name, wrong in found.items() if wrong}


def test_what_was_moved_is_noticed():
    assert missing("see rankone.policies.kernels, and numerics/compiled.py or src/rankone/numerics/compiled.py") == [
        "rankone.policies.kernels",
        "numerics/compiled.py",
        "src/rankone/numerics/compiled.py",
    ]
    assert missing("rankone.kernels.policy.decide, `rankone.no_such_name`") == ["rankone.no_such_name"]
    assert not missing("rankone.kernels.policy.decide, kernels/policy.py, rankone/kernels/policy.py, rankone.db")
