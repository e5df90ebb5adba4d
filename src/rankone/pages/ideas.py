"""How policies work, term by term: what an explanation says before the run."""

from __future__ import annotations

_OF_LEVELS = {
    "Sweeps": "A column is drawn, and every row still in the race is shown with it; then a row is drawn for the "
    "columns. So all rows meet the same columns, and their click rates can be compared.",
    "Intervals": "The more sweeps, the narrower the interval in which the click rate of a row or column almost surely "
    "lies. It is the rate with the partners drawn so far, so it rises when bad partners leave.",
    "Eliminations": "When a stage ends, every row and column whose interval ends below the best lower bound is out. "
    "From then on a winner plays in its place.",
}
_OF_PAIRS = {
    "Rounds": "Every pair still in the race is shown equally often.",
    "Intervals": "The more outcomes, the narrower the interval in which a pair's click rate almost surely lies.",
    "Eliminations": "When a stage ends, every pair whose interval ends below the best lower bound is out.",
}
_OF_CHOICES = {
    "Choices": "The policy chooses the next pair from the outcomes so far. The more often a pair was shown, the surer "
    "is what is known of it.",
    "Leader": "The pair that looks best. A good policy moves the traffic to it, and looks at others just often enough "
    "to notice a mistake.",
}
_OF_ALL = {"Regret": "The clicks lost against always showing the best pair. Where its curve is flat, nothing is lost."}


def idea(eliminates: bool, about_levels: bool) -> dict[str, str]:
    """Return how such a policy works, term by term.

    >>> list(idea(eliminates=True, about_levels=True))
    ['Sweeps', 'Intervals', 'Eliminations', 'Regret']
    """
    ideas = _OF_LEVELS if about_levels else _OF_PAIRS if eliminates else _OF_CHOICES
    return ideas | _OF_ALL
