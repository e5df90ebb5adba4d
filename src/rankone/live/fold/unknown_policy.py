"""A policy that this process does not know, because nobody imported the module that defines it.

Its experiment is still counted, listed, reported, exported and stopped: none of that needs the policy. Only what the
policy itself must answer is refused.
"""

import dataclasses

from rankone.errors import InputError
from rankone.policies import Policy, as_policy


class PolicyNotKnown(InputError):
    """The policy of an experiment would have to answer, and is not known here."""


@dataclasses.dataclass(frozen=True)
class UnknownPolicy(Policy):
    """Stands for a policy of which only the label is known."""

    text: str

    @property
    def label(self) -> str:
        """What the journal calls it."""
        return self.text

    def start(self, n_rows: int, n_cols: int) -> None:
        """Say that it cannot."""
        raise self.error()

    def error(self) -> PolicyNotKnown:
        """Return why it cannot answer."""
        return PolicyNotKnown("a policy that is known here", self.text, "import the module that defines it")

    def known_by_now(self) -> bool:
        """Return whether its module was imported meanwhile."""
        return not isinstance(policy_of(self.text), UnknownPolicy)


def policy_of(label: str) -> Policy:
    """Return the policy that a journal names, or what stands for it if it is not known here.

    >>> policy_of("ucb1").label, policy_of("my-own:explore=3").label
    ('ucb1', 'my-own:explore=3')
    """
    try:
        return as_policy(label)
    except InputError:
        return UnknownPolicy(label)
