"""Every Python block and every `rankone` command in README, CONTRIBUTING and docs runs as written."""

import contextlib
import json
import re
import shlex
import sqlite3
import tomllib
from pathlib import Path

import pytest
import typer

import rankone
from rankone.cli import build_app
from tests.programs import run_python
from tests.web.helpers import free_port

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```([^\s`]*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN = {"csv", "python", "sh"}
READ = {"json": json.loads, "toml": tomllib.loads}
TRIED = {"console", "html", "js", "jsx", "sql"}  # by test_docs_site, test_snippet, test_javascript, and below
SHOWN = {"caddyfile", "css", "dockerfile", "ini", "nginx", "text", "{eval-rst}", "{toctree}"}  # not ours to run


def blocks(page: Path, language: str, run: bool = True) -> list[str]:
    """Blocks of a page in one language; a block marked `no-run` is shown but needs something a test must not do."""
    found = BLOCK.finditer(page.read_text())
    return [block[3] for block in found if block[1] == language and ("no-run" not in block[2]) == run]


def commands(block: str, programs: tuple[str, ...] = ("rankone",)) -> list[list[str]]:
    """The words of each command in a block, of these programs."""
    lines = [shlex.split(line, comments=True) for line in block.replace("\\\n", " ").splitlines()]
    return [words for words in lines if words and words[0] in programs]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_runs_from_top_to_bottom(page, tmp_path):
    """As a reader goes through it: in one directory, Python in one session, commands in between.

    A block marked `file=NAME` is also kept in that file; a `text` block marked `output` is what the command before it
    prints. The service listens at a port of its own.
    """
    port = free_port()
    code = first = "from tests.reader import command, shown\n"
    for language, about, block in BLOCK.findall(page.read_text().replace("127.0.0.1:8000", f"127.0.0.1:{port}")):
        if "no-run" in about:
            continue
        if language in ("csv", "text"):
            for name in re.findall(r"file=(\S+)", about):
                (tmp_path / name).write_text(block)
            if about.strip() == "output":
                code += f"shown({block!r})\n"
        elif language == "python":
            code += block
            for name in re.findall(r"file=(\S+)", about):
                with (tmp_path / name).open("a") as file:
                    file.write(block)
        elif language == "sh":
            for words in commands(block, ("rankone", "curl")):
                own_port = ["--port", str(port)] if words[1] == "serve" else []
                code += f"command(*{words + own_port})\n"
    if code == first:  # nothing to run
        return
    done = run_python(code, tmp_path)
    assert done.returncode == 0, done.stderr


def test_no_block_is_skipped_in_silence():
    """A block of a kind that nobody runs or reads, or that is written so that it is not found, is an error."""
    for page in PAGES:
        text = page.read_text()
        found = [block[1] for block in BLOCK.finditer(text)]
        assert set(found) <= RUN | set(READ) | TRIED | SHOWN, f"{page.name}: no test looks at {set(found)}"
        assert len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)) == 2 * len(found), f"{page.name}: odd fences"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_not_run_is_at_least_right_in_form(page):
    for block in blocks(page, "python", run=False):
        compile(block, page.name, "exec")
    for block in blocks(page, "sh", run=False):
        for words in commands(block):
            understood(words)
    for language, read in READ.items():
        for block in blocks(page, language):
            assert read(block)


def test_the_journal_can_be_asked_in_sql(tmp_path):
    with rankone.Experiment("homepage", 2, 2, db=tmp_path / "rankone.db") as experiment:
        for clicked in (True, False):
            experiment.tell(experiment.ask().id, clicked)
    (query,) = blocks(ROOT / "docs" / "live-experiments.md", "sql")
    with contextlib.closing(sqlite3.connect(tmp_path / "rankone.db")) as database:
        found = database.execute(query).fetchall()
    assert sum(outcomes for *_, outcomes, _ in found) == 2
    assert sum(outcomes * rate for *_, outcomes, rate in found) == 1


def understood(words: list[str]) -> None:
    """Let the command read its options and arguments, without doing anything."""
    command, rest = typer.main.get_command(build_app()), words[1:]
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    assert not hasattr(command, "commands") or rest[0].startswith("-"), f"no such command: {shlex.join(words)}"
    with contextlib.suppress(typer.Exit):  # --version leaves at once
        command.make_context(shlex.join(words), rest)


@pytest.mark.parametrize("wrong", ["rankone simulat", "rankone simulate --horizn 5", "rankone simulate --horizon some"])
def test_a_wrong_command_is_not_understood(wrong):
    with pytest.raises((AssertionError, typer.BadParameter.__base__)):
        understood(shlex.split(wrong))


def experiments_of(page):
    """The database and the name of every experiment that a page makes."""
    python = "".join(blocks(page, "python"))
    made = re.findall(r'Experiment\(\s*"([^"]+)",((?:(?!Experiment\().)*?)\bdb="([^":]+)"', python, re.DOTALL)
    found = [(name, db) for name, levels, db in made if re.search(r"\b(rows|factors)=|\[", levels)]
    made = [words[2:4] for block in blocks(page, "sh") for words in commands(block) if words[1] == "create"]
    return {(db, name) for name, db in found} | {tuple(words) for words in made}


def test_pages_can_be_followed_in_one_directory():
    """No page makes an experiment that another has made with other rows or columns."""
    pages = {page.name: experiments_of(page) for page in PAGES}
    assert {"live-experiments.md", "run-it-on-your-site.md", "your-own-policy.md", "README.md"} <= {
        name for name, found in pages.items() if found
    }
    made = [each for found in pages.values() for each in found]
    assert sorted(made) == sorted(set(made))
