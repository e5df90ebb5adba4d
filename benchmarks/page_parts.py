"""Pages of `docs/` whose figures a benchmark writes: between the line that names it and the line that ends them."""

from pathlib import Path

END = "<!-- end of what is written -->\n"


def begin(command: str) -> str:
    """Return the line after which a command writes its figures."""
    return f"<!-- written by python -m {command} -->\n"


def write_between(page: Path, first: str, text: str) -> None:
    """Write figures into a page, after the line that they begin with."""
    before, _, rest = page.read_text().partition(first)
    page.write_text(f"{before}{first}\n{text}\n{END}{rest.partition(END)[2]}")
