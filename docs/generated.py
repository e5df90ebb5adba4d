"""The parts of the site that are made from the code when it is built, so that they cannot fall behind it.

A page says ``<!-- generated: WHAT ARGUMENTS -->`` on a line of its own, and `fill` puts Markdown there: the public
names of a module, the commands with their options, the tables of policies, problems, click models, formats and limits.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

MARK = re.compile(r"^<!-- generated: ([\w-]+) ?(.*?) -->$", re.MULTILINE)
REFERENCE = Path(__file__).parent / "reference"
# Packages whose own `__all__` is public beside the names of `rankone` itself.
PARTS = tuple(
    f"rankone.{part}" for part in ("clicks", "lists", "policies", "live", "problems", "simulation", "testing")
)


def setup(app: Any) -> dict[str, bool]:
    """Fill every page as Sphinx reads it."""
    app.connect("source-read", _read)
    app.connect("build-finished", _write_for_agents)
    app.add_lexer("csv", TextLexer)  # Pygments has none, and a page may show a file
    return {"parallel_read_safe": True}


def _read(app: Any, page: str, source: list[str]) -> None:
    source[0] = whole_figures(fill(source[0]))
    if page == app.config.root_doc:
        source[0] = shelve(source[0], app.env.found_docs)


def for_agents(pages: Mapping[str, str]) -> str:
    """Return llms.txt: what each page is about, for programs that read documentation (llmstxt.org)."""
    lines = ["# rankone", "", "> " + _opening(pages["index"])[1], "", "## Pages", ""]
    for name, text in pages.items():
        title, first = _opening(text)
        lines.append(f"- [{title}]({name}.html): {first}")
    return "\n".join(lines) + "\n"


def _opening(page: str) -> tuple[str, str]:
    """Return the title of a page and how it begins, as plain text."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", page, flags=re.MULTILINE | re.DOTALL).strip()
    title, _, rest = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", text).partition("\n")
    first = next(part for part in re.split(r"\n\n+", rest) if re.match(r"[\w'\"]", part.strip()))
    words = " ".join(first.split())
    return title.lstrip("# "), words[: _end_of_sentence(words)].rstrip(":")


def _end_of_sentence(words: str, least: int = 60) -> int:
    ends = [match.end() for match in re.finditer(r"[.?!](?=\s|$)", words) if match.end() >= least]
    return ends[0] if ends else len(words)


def _write_for_agents(app: Any, error: Exception | None) -> None:
    folder = Path(__file__).parent
    pages = {page.stem: fill(page.read_text()) for page in sorted(folder.glob("*.md"))}
    Path(app.outdir, "llms.txt").write_text(for_agents(pages), encoding="utf-8")


def whole_figures(text: str) -> str:
    """Keep a figure and its error together in the cells of tables: no line breaks inside "0.51 ± 0.02".

    >>> whole_figures("| 0.51 ± 0.02 |").split(" ")
    ['|', '0.51\\xa0±\\xa00.02', '|']
    """
    row = re.compile(r"^\|.*$", re.MULTILINE)
    return row.sub(lambda line: re.sub(r"(?<=[\d%]) ± (?=\d)", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}", line[0]), text)


def fill(text: str) -> str:
    """Put what the code says in place of the marks of a page."""
    return MARK.sub(lambda mark: MAKERS[mark[1]](*mark[2].split()), text)


def shelve(index: str, pages: Iterable[str]) -> str:
    """Name the pages that no shelf of the index names where it says ``...``: a new page is on the site by itself."""
    named = set(re.findall(r"^[\w/-]+$", index, re.MULTILINE)) | {"index"}
    rest = sorted(page for page in pages if page not in named and "/" not in page)
    return re.sub(r"^\.\.\.$", "\n".join(rest), index, flags=re.MULTILINE)


def public_names() -> dict[str, str]:
    """Return every public name and its home: the names of `rankone`, then what its parts add to them."""
    import rankone

    names = {f"rankone.{name}": home for name, home in rankone._HOMES.items()}
    known = {id(getattr(rankone, name)) for name in rankone._HOMES}
    for part in PARTS:
        module = importlib.import_module(part)
        names |= {f"{part}.{name}": part for name in module.__all__ if id(getattr(module, name)) not in known}
    return names


def names(*homes: str) -> str:
    """Document the public names of these modules: a table of first sentences, then each with all it has."""
    found = [name for name, home in public_names().items() if home.startswith(homes)]
    return _documented(sorted(found, key=lambda name: name.lower().split(".")[-1]))


def other_names() -> str:
    """Document the public names that no page of the reference asks for: a new part of rankone is here by itself."""
    marks = [mark for page in REFERENCE.glob("*.md") for mark in MARK.findall(page.read_text())]
    homes = tuple(home for maker, homes in marks if maker == "names" for home in homes.split())
    found = [name for name, home in public_names().items() if not home.startswith(homes)]
    return f"## More names\n\n{_documented(found)}" if found else ""


def _documented(found: Sequence[str]) -> str:
    rows = [(f"{{py:obj}}`~{name}`", sentence_of(name)) for name in found]
    blocks = "\n".join(_directive(name) for name in found)
    return f"{_table(('name', 'what it is'), rows)}\n\n```{{eval-rst}}\n{blocks}```"


def _object(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def _directive(name: str) -> str:
    from rankone.policies import Policy

    value = _object(name)
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    # What a policy's `start` does is said once, by Policy.
    options = "\n   :exclude-members: start" if inspect.isclass(value) and issubclass(value, Policy) else ""
    return f".. auto{kind}:: {name}{options if value is not Policy else ''}\n"


def sentence_of(name: str) -> str:
    """Return the first sentence of what a public name says of itself."""
    text = " ".join((inspect.getdoc(_object(name)) or "").partition("\n\n")[0].split())
    return text.replace("``", "`")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def commands() -> str:
    """Document every command and option, as the command's own help does."""
    return "\n".join(_command(*command) for command in every_command())


def every_command() -> Iterator[tuple[str, Any]]:
    """Return each command with its full name, groups before what is in them."""
    import typer

    from rankone.cli import build_app

    waiting = [("rankone", typer.main.get_command(build_app()))]
    while waiting:
        name, command = waiting.pop(0)
        yield name, command
        children: Mapping[str, Any] = getattr(command, "commands", {})
        waiting[:0] = [(f"{name} {child}", children[child]) for child in sorted(children) if not children[child].hidden]


def _command(name: str, command: Any) -> str:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    words = "".join(f" {parameter.name.upper()}" for parameter in arguments)
    after = " COMMAND" if hasattr(command, "commands") else " [OPTIONS]"
    rows = [(spelling(parameter), _explained(parameter)) for parameter in command.params]
    level = "##" if len(name.split()) < 3 else "###"
    usage = f"```text\n{name}{after}{words}\n```"
    table = _table(("option", "what it says"), rows) if rows else ""
    return f"{level} {name}\n\n{command.help}\n\n{usage}\n\n{table}\n"


def spelling(parameter: Any) -> str:
    """Return how an option or argument is written: `--problem`, `-p`; arguments in capitals."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{text}`" for text in (*parameter.opts, *parameter.secondary_opts))


def _explained(parameter: Any) -> str:
    text = re.sub(r"(?<![`\w-])--[\w-]+", r"`\g<0>`", parameter.help or "")  # "--out" must stay two dashes
    if parameter.required:
        text += " **Required.**"
    elif not isinstance(parameter.default, bool) and parameter.default not in (None, [], ()):
        text += f" Default: `{parameter.default}`."
    return text + (f" Or the environment variable `{parameter.envvar}`." if parameter.envvar else "")


def policies() -> str:
    """List the policies with their parameters, as `rankone policies` does; a name leads to its class."""
    from rankone.cli.study.catalogue import policy_facts
    from rankone.policies import known_policies

    facts, homes = policy_facts(), public_names()
    for fact in facts:
        kind = known_policies()[fact["policy"]]
        home = "rankone" if f"rankone.{kind.__name__}" in homes else "rankone.policies"
        fact["policy"] = f"{{py:obj}}`{kind.name} <{home}.{kind.__name__}>`"
    return _facts(facts, code=("parameters",))


def families() -> str:
    """List the families of problems, as `rankone problems` does."""
    from rankone.cli.study.catalogue import family_facts

    return _facts(family_facts(), code=("problem", "parameters"))


def click_models() -> str:
    """List the click models by the names that `rankone fit --model` takes."""
    from rankone.clicks import MODELS

    return _facts(_kinds("model", MODELS.known()), code=("model", "parameters"))


def log_formats() -> str:
    """List the log formats by the names that `rankone fit --format` takes."""
    from rankone.clicks import FORMATS

    return _facts(_kinds("format", FORMATS.known()), code=("format", "parameters"))


def _kinds(what: str, known: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for name, kind in sorted(known.items()):
        parameters = inspect.signature(kind).parameters.values()
        yield {
            what: name,
            "parameters": ", ".join(f"{each.name}={each.default}" for each in parameters) or "none",
            "what it is": kind.title,
        }


def _facts(facts: Iterable[Mapping[str, str]], code: Sequence[str]) -> str:
    facts = list(facts)
    rows = [
        [f"`{value}`" if key in code and value != "none" else value for key, value in fact.items()] for fact in facts
    ]
    return _table(list(facts[0]), rows)


def experiment_settings() -> str:
    """List the settings of an experiment, as they are declared."""
    from rankone.live.settings import SETTINGS

    facts = [
        {
            "setting": each.path,
            "`rankone create`": f"--{each.option}",
            "what it may be": each.kind.text,
            "default": "none" if each.default is None else str(each.default),
            "what it does": each.help,
        }
        for each in SETTINGS
    ]
    return _facts(facts, code=("setting", "`rankone create`", "default"))


def limits() -> str:
    """List the limits of the service."""
    from rankone.web.server.limits import Limits

    return Limits().markdown()


def operations() -> str:
    """List the HTTP operations of the service: what each does, and the scope that it needs."""
    from rankone.web.server.app import OPERATIONS

    rows = [
        (f"`{each.method} {each.path}`", each.scope or "-", each.handler.__doc__.partition("\n")[0].replace("``", "`"))
        for each in OPERATIONS
        if each.path.startswith(("/v1", "/ofrep", "/health", "/metrics", "/openapi"))
    ]
    return _table(("request", "scope", "what it does"), rows)


def measured(name: str) -> str:
    """Return the tables that benchmarks measured, from their folder."""
    return (Path(__file__).parents[1] / "benchmarks" / "measured" / f"{name}.md").read_text()


def notebook(name: str) -> str:
    """Return the cells of a notebook: its text, and its code as blocks."""
    cells = json.loads((Path(__file__).parent / name).read_text())["cells"]
    texts = [("".join(cell["source"]), cell["cell_type"] == "code") for cell in cells]
    return "\n\n".join(f"```python\n{text}\n```" if is_code else text for text, is_code in texts)


MAKERS: dict[str, Callable[..., str]] = {
    maker.__name__: maker
    for maker in (
        names,
        other_names,
        commands,
        policies,
        families,
        click_models,
        log_formats,
        experiment_settings,
        limits,
        operations,
        measured,
        notebook,
    )
}
