"""How an experiment is opened: what a new one begins with, and what must not contradict one that is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rankone.errors import InputError
from rankone.serving.fold import Fold
from rankone.serving.prior import levels_of_past, read_prior, weighted
from rankone.serving.settings import Settings, checked_number, levels_of, refuse_contradictions


def past_counts(prior: Any, weight: float) -> Any:
    """Return past counts that were given, in whatever form, to count with this weight; None: none were."""
    past = None if prior is None else read_prior(prior)
    checked_number(weight, "weight", 0, 1, "weight=0.5")
    return past


def new_settings(
    name: str, asked: dict[str, Any], past: Any, weight: float, names: Callable[[], Iterable[str]]
) -> Settings:
    """Return the settings of a new experiment, with past counts of this weight if there are some.

    Args:
        name: of the experiment.
        asked: settings that were checked (`checked_settings`).
        past: past counts (`read_prior`), or None.
        weight: how much they count.
        names: returns the experiments that are there, for whoever meant one of these.
    """
    if past is not None:
        asked = asked | levels_of_past(past, asked)
        levels = levels_of(asked["rows"], asked["cols"], asked["factors"] or ())
        asked["prior"], asked["past"] = weighted(past, levels, weight)
    if asked["factors"] is None and (asked["rows"] is None or asked["cols"] is None):
        known = ", ".join(list(names())[:10]) or "none"
        do = f"pass rows=['A', 'B'], cols=['1', '2'], or continue an experiment of this database ({known})"
        raise InputError(f"rows and cols, or factors, for the new experiment '{name}'", "none", do)
    return Settings.new(name, asked)


def check_continues(fold: Fold, asked: dict[str, Any], past: Any, weight: float) -> None:
    """Refuse settings, or past counts, that contradict those the experiment was made with."""
    settings, living = fold.settings, {name: tuple(each.names_living()) for name, each in fold.factors.items()}
    refuse_contradictions(asked, settings, living)
    if past is not None and weighted(past, settings.levels, weight)[0] != settings.prior:
        expected = f"the past counts and the weight with which experiment '{settings.name}' began"
        got = "others" if settings.prior else "some, where it began with none"
        raise InputError(expected, got, "leave prior out")
