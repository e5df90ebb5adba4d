"""The library's messages in the words of the command: its argument `max_bad=0.5` is the option ``--max-bad 0.5``."""

import ast
import re
import shlex
from collections.abc import Collection

_OF_A_FORMAT = "query|items?|position|clicked|clicks|clicks_are|between|list|segment|separator|encoding|missing"


def in_options(text: str, names: Collection[str]) -> str:
    """Write what the library calls an argument as an option of the command, which has options of these names.

    >>> in_options("lower min_impressions, or try max_bad=0.5", ["min_impressions", "max_bad"])
    'lower --min-impressions, or try --max-bad 0.5'
    >>> in_options("try 'pbm:min_impressions=20'", ["min_impressions"])
    "try 'pbm:min_impressions=20'"
    >>> in_options("try factors={'headline': 4, 'image': 5}", ["factor"])
    'try --factor headline=4 --factor image=5'
    """
    if "factor" in names:
        text = re.sub(r"\bfactors=(\['[^\]]*\]|\{'[^}]*\})", _each_factor, text)
    if "option" in names:
        text = as_format_options(text, without=names)
    words = "|".join(names) or "$^"
    text = re.sub(rf"(?<![:,\w-])(?<!-o )({words})=", lambda match: f"{_option(match[1])} ", text)
    several = "|".join(name for name in names if "_" in name) or "$^"  # other words are words of the language too
    return re.sub(rf"(?<![:,\w-])({several})\b", lambda match: _option(match[1]), text)


def as_format_options(text: str, without: Collection[str] = ()) -> str:
    """Write what the library calls an option of a format as the command writes it.

    >>> as_format_options("name the column: item=doc")
    'name the column: -o item=doc'
    """
    return re.sub(
        rf"(?<!-o )\b({_OF_A_FORMAT})=", lambda match: match[0] if match[1] in without else f"-o {match[0]}", text
    )


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _each_factor(match: re.Match[str]) -> str:
    try:
        given = ast.literal_eval(match[1])
    except (ValueError, SyntaxError):  # a name with quotes of its own
        return match[0]
    if isinstance(given, dict):
        given = [f"{name}={','.join(each) if isinstance(each, list) else each}" for name, each in given.items()]
    return " ".join(f"--factor {shlex.quote(each)}" for each in given)
