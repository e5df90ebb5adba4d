"""``rankone policies``: what policies there are, their parameters and when to use each."""

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
