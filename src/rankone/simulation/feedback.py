"""When outcomes come back: at once, after a fixed or a random delay, in batches.

The outcome of decision t (from 0) is due ``steps + D`` decisions later, D geometric on 0, 1, 2, ... with the given
mean, and in batches it waits for the end of the batch in which it is due; it is told before the first decision after
that.
"""

from dataclasses import dataclass
from typing import get_type_hints

from rankone.errors import InputError
from rankone.kernels.feedback import Late, Scratch
from rankone.specs import changed_settings, number_in, parse_settings, whole_number

IMMEDIATE = "immediate"
# Which parameters each word of the language takes.
_WORDS = {IMMEDIATE: (), "delay": ("steps", "mean"), "batch": ("size",)}


@dataclass(frozen=True, kw_only=True)
class Feedback:
    """When outcomes come back.

    Args:
        steps: decisions made before an outcome is known, always.
        mean: mean of the random number of decisions on top of that.
        size: outcomes come in batches of this many decisions.

    >>> Feedback(mean=100).label, Feedback(steps=20, size=1_000).label, Feedback().label
    ('delay:mean=100', 'delay:steps=20+batch:size=1000', 'immediate')
    """

    steps: int = 0
    mean: float = 0.0
    size: int = 1

    def __post_init__(self) -> None:
        whole_number("steps of delay", self.steps, least=0)
        whole_number("a batch size", self.size)
        number_in("delay:mean", self.mean, "[0, inf)", example=100)

    @property
    def is_immediate(self) -> bool:
        """Whether every outcome is known before the next decision."""
        return self == AT_ONCE

    def start(self, scratch: Scratch) -> Late | None:
        """Return what the loop that plays needs, for a run on these arrays."""
        return None if self.is_immediate else Late.new(scratch, self.steps, self.mean, self.size)

    @property
    def label(self) -> str:
        """Canonical text, which `as_feedback` reads again."""
        changed, parts = changed_settings(self), []
        for word, names in _WORDS.items():
            settings = ",".join(f"{name}={changed[name]}" for name in names if name in changed)
            parts += [f"{word}:{settings}"] if settings else []
        return "+".join(parts) or IMMEDIATE

    def __str__(self) -> str:
        return self.label


AT_ONCE = Feedback()


def as_feedback(spec: str | Feedback | None) -> Feedback:
    """Turn ``"delay:mean=100"``, ``"delay:steps=100"``, ``"batch:size=1000"``, or two joined by ``+``, into feedback.

    >>> as_feedback("delay:mean=100+batch:size=1000")
    Feedback(steps=0, mean=100.0, size=1000)
    """
    if spec is None:
        return AT_ONCE
    if isinstance(spec, Feedback):
        return spec
    if not isinstance(spec, str):
        raise InputError("feedback as a text", spec, "try 'delay:mean=100' or 'batch:size=1000'")
    hints = get_type_hints(Feedback)
    values: dict[str, float] = {}
    for part in spec.split("+"):
        word, _, settings = part.partition(":")
        if word not in _WORDS or (_WORDS[word] and not settings):
            examples = "immediate, delay:steps=100, delay:mean=100 or batch:size=1000"
            raise InputError(f"{examples} as feedback", spec, "join two of them by + if both apply")
        read = parse_settings(word, settings, {name: hints[name] for name in _WORDS[word]})
        if read.keys() & values.keys():
            raise InputError(f"'{word}' once in the feedback", spec, "leave one of them out")
        values |= read
    return Feedback(**values)  # type: ignore[arg-type]
