"""``rankone policies``: what policies there are, their parameters and when to use each."""

from __future__ import annotations

import json

import typer

from rankone.cli._commands import STUDY, command


@command("policies", topic=STUDY)
def policies(as_json: bool = typer.Option(False, "--json", help="Print JSON and nothing else.")) -> None:
    """List the policies: what each plays, its parameters, what it does and when to use it."""
    found = policy_facts()
    if as_json:
        print(json.dumps(found, indent=1))
        return
    import polars as pl

    from rankone.cli._tables import show_table

    show_table(pl.DataFrame(found))


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
