"""Levels that come and go, by name: the same of an embedded experiment and of one at a service."""

from __future__ import annotations

from collections.abc import Mapping


class LevelChanges:
    """Methods that add and retire levels."""

    def _change_levels(self, factor: str, name: str, add: bool) -> int:
        raise NotImplementedError

    def add_level(self, factor: str, name: str) -> int:
        """Add a level to a factor; return its number. What is known of the other levels stays known."""
        return self._change_levels(factor, name, add=True)

    def retire_level(self, factor: str, name: str) -> int:
        """Withdraw a level of a factor: it is never chosen again; outcomes of earlier decisions are still recorded.

        A stopped experiment that shows it experiments again, on the levels that are left.
        """
        return self._change_levels(factor, name, add=False)

    def _change_forbidden(self, levels: Mapping[str, str], forbid: bool) -> None:
        raise NotImplementedError

    def forbid(self, levels: Mapping[str, str]) -> None:
        """Never show levels of two or more factors together, such as ``{"headline": "20 % off", "button": "free"}``.

        Where the best levels are forbidden together, what is allowed is compared by two levels at a time, which takes
        more visitors. Every level must keep something to be shown with.
        """
        self._change_forbidden(levels, forbid=True)

    def allow(self, levels: Mapping[str, str]) -> None:
        """Show levels together again that `forbid` forbade."""
        self._change_forbidden(levels, forbid=False)
