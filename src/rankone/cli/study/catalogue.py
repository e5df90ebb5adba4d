"""``rankone policies``, ``rankone problems``: what there is, with parameters and when to use it."""

from rankone.cli._commands import command
from rankone.cli._options import JSON
from rankone.cli._tables import show_facts


@command("policies")
def policies(as_json: bool = JSON) -> None:
    """List the policies: what each does, its parameters and when to use it."""
    show_facts(policy_facts(), as_json)


def policy_facts() -> list[dict[str, str]]:
    """Return what there is to say about each policy: the command prints it, and so does the documentation."""
    import dataclasses

    from rankone.kernels.decision import KINDS
    from rankone.policies import known_policies
    from rankone.specs import value_text

    return [
        {
            "policy": name,
            "plays": KINDS[kind.decision_kind],
            "parameters": ", ".join(f"{field.name}={value_text(field.default)}" for field in dataclasses.fields(kind))
            or "none",
            "what it does": (kind.__doc__ or "").strip().partition("\n")[0],
            "use when": kind.use_when,
        }
        for name, kind in sorted(
            known_policies().items(), key=lambda each: (list(KINDS).index(each[1].decision_kind), each[0])
        )
    ]


_HELP = """Write parameters as needle:32x32:p=0.1,gap=0.4; 0.1x0.2 is 0.1 for the rows and 0.2 for the columns.
ITEMSxPOSITIONS are lists, for policies that play lists: cascade:16x4:p=0.2,gap=0.15.
USERSxITEMS are worlds in which users arrive, and a policy picks the item: latent:50x10, or a complete table of them,
table:FILE.csv (or .parquet): a line for each user, a column for each item; table:FILE.csv:low=-10,high=10.
After a bar, how it changes meanwhile: needle:8x8|changes=3, |drift=3, |daily=0.6,weekly=0.2, |wear=5000.
In a shell, put a name with a bar in quotes.
A problem can also be a file:
  FILE.csv         columns side (row or col), name, probability: a line for each row and column;
                   or factor, level, probability; or, if it changes, decision, row, col, rate: from then on
  FILE.json        {"rows": [0.9, 0.5], "cols": [0.8, 0.3]}, and row_names, col_names, name where wanted;
                   or {"factors": {"headline": [0.9, 0.5], "image": [0.8, 0.3], ...}}, and level_names,
                   interactions, forbidden, scale, base, name, as rankone.problems.save_problem writes them
  FILE.json#NAME   one of the problems of {"format": "rankone-problems", "version": 1, "problems": [...]}"""


@command("problems")
def problems(as_json: bool = JSON) -> None:
    """List the problems that policies can be simulated on, with their parameters."""
    show_facts(family_facts(), as_json)
    if not as_json:
        print(_HELP)


def family_facts() -> list[dict[str, str]]:
    """Return what there is to say about each family: the command prints it, and so does the documentation."""
    from rankone.problems import known_families
    from rankone.specs import value_text

    return [
        {
            "problem": family.spelling,
            "parameters": ", ".join(f"{key}={value_text(value)}" for key, value in family.parameters.items()) or "none",
            "what it is": family.explanation,
        }
        for _, family in sorted(known_families().items(), key=lambda each: (each[1].sizes[0] == "n_items", each[0]))
    ]
