"""Snapshots: a fold as plain arrays, so that opening an experiment need not read its whole journal.

A snapshot is a convenience and can be deleted at any time. It is used only if its own checksum is right and the
journal's checksum at its place is the one it was made with; otherwise it is set aside and the journal is read instead.

Where a journal begins behind what was archived, such a snapshot is its *base*, and that is needed. So whoever changes
`LAYOUT` teaches `load_base` to read the layouts that were released before.
"""

import hashlib
import io
import json
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from rankone.errors import JournalError
from rankone.live.factors import Factors
from rankone.live.fold.feature_counts import Open
from rankone.live.fold.fold import Diverged, Fold
from rankone.live.fold.fold_facts import Held
from rankone.live.fold.list_fold import new_fold
from rankone.live.fold.unknown_policy import policy_of
from rankone.live.journal.events import Events, damaged
from rankone.live.settings import Settings
from rankone.numerics.states import fields_of, state_of

LAYOUT = 1  # of a snapshot; one of another layout is set aside
_COUNTS = ("asked", "pulls", "clicks", "late", "tallies", "prior", "earlier", "explored")


def contents(fold: Fold) -> dict[str, Any]:
    """Return all that a fold knows as plain arrays: two folds are the same if these are."""
    arrays: dict[str, Any] = {name: getattr(fold, name) for name in _COUNTS}
    facts = {name: getattr(fold, name) for name in fold.plain} | {
        "layout": LAYOUT,
        "chain": fold.chain,
        "open": [[number, *opened] for number, opened in fold.open.items()],
        "held": [[number, *held] for number, held in fold.held.items()],
        "excluded": list(fold.exclusions.taken.items()),
        "features": fold.feature_counts.facts(),
        "settings": fold.settings.note(),
        "policy": fold.policy.label,
        "wanted": list(fold.wanted.items()),
        **fold.factors.note(),
    }
    for name, part in fold.parts().items():
        arrays |= {f"{name}/{own}": array for own, array in part.arrays().items()}
        facts[name] = part.facts()
    if fold.state is not None:
        arrays |= fields_of({"state": fold.state})
        facts["rng"] = fold.rng.bit_generator.state
    return arrays | {"facts": np.frombuffer(json.dumps(facts, default=bytes.hex).encode(), np.uint8)}


def save(fold: Fold) -> bytes:
    """Return a fold as bytes, its checksum first."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **contents(fold))
    body = file.getvalue()
    return _checksum(body) + body


def load(body: bytes, seq: int, marks: Events, chain_at: Callable[[int], bytes | None]) -> Fold | None:
    """Return the fold of a snapshot, or None if it is damaged or does not belong to this journal.

    `chain_at(seq)` gives the journal's checksum at an event.
    """
    arrays, facts = _read(body)
    if not facts or facts["layout"] != LAYOUT or facts["seq"] != seq or chain_at(seq) != bytes.fromhex(facts["chain"]):
        return None
    fold = new_fold(marks)
    if fold.exclusions.after(seq):
        return None  # it counts outcomes that were excluded since
    _fill(fold, facts, arrays)
    return fold if _fill_state(fold, facts, arrays) else None


def load_base(fold: Fold, seq: int, body: bytes) -> Fold:
    """Let a fold begin where its journal does, behind event `seq`: with what was known there.

    A base cannot be set aside, as what came before is in a file. So a policy whose state has other parts by now begins
    again on what is known: `Diverged` tells that to who wants it replayed.
    """
    arrays, facts = _read(bytes(body))
    if not facts:
        raise damaged(seq, "what is known where the journal begins damaged, behind event")
    if facts["layout"] != LAYOUT:
        expected = f"a journal that begins with a snapshot of layout {LAYOUT}"
        raise JournalError(expected, "one of another layout", "use the version of rankone that archived it")
    if facts["seq"] != seq:
        raise damaged(seq, "what is known at another event where the journal begins, behind event")
    _fill(fold, facts, arrays)
    fold.exclusions.remember((number, opened.token) for number, opened in fold.open.items())
    if fold.published is None and fold.runs_at(seq) and not ("rng" in facts and _fill_state(fold, facts, arrays)):
        raise Diverged(seq)
    return fold


def _read(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    if _checksum(body[32:]) != bytes(body[:32]):
        return {}, {}
    with np.load(io.BytesIO(body[32:]), allow_pickle=False) as stored:
        arrays = dict(stored)
    return arrays, json.loads(arrays.pop("facts").tobytes())


def of_another_version(body: bytes) -> bool:
    """Return whether a snapshot is as it was made, but by a program whose layout is not read here."""
    return _read(body)[1].get("layout", LAYOUT) != LAYOUT


def digest(body: bytes) -> str:
    """Return the checksum of a snapshot, for others to name it by."""
    return bytes(body[:32]).hex()


def _fill(fold: Fold, facts: dict[str, Any], arrays: Any) -> None:
    """Take over all that is counted and weighed, and the decisions that are open."""
    for name in fold.plain:
        setattr(fold, name, facts[name])
    for name in _COUNTS:
        setattr(fold, name, arrays[name])
    fold.chain, fold.wanted = bytes.fromhex(facts["chain"]), dict(facts["wanted"])
    fold.exclusions.taken |= dict(facts["excluded"])
    fold.settings = Settings.of_note(json.loads(facts["settings"]))
    fold.policy = policy_of(facts["policy"])
    fold.factors = Factors.of_note(facts)
    fold.place_levels()
    for number, tag, at, secret, shown, token, cross, *visitor in facts["open"]:
        known = None if cross is None else bytes.fromhex(cross)
        fold.open[number] = Open(tag, at, bytes.fromhex(secret), bytes.fromhex(shown), token, known, *visitor)
    fold.held = {number: Held(*held) for number, *held in facts["held"]}
    fold.due = deque(fold.open) if fold.settings.outcomes.window else deque()
    fold.feature_counts.restore(facts["features"])
    fold.make_parts()
    for name, part in fold.parts().items():
        first = f"{name}/"
        own = {of.removeprefix(first): array for of, array in arrays.items() if of.startswith(first)}
        part.restore(own, facts[name])
    if fold.published is not None:
        fold.evidence.follow_sums(fold.published)


def _fill_state(fold: Fold, facts: dict[str, Any], arrays: Any) -> bool:
    """Take over the policy's state; return False where it has other parts by now."""
    if fold.published is not None:
        return True
    fresh = fold.started()
    if {f"state_{name}" for name in fresh._fields} != {name for name in arrays if name.startswith("state_")}:
        return False
    stored = state_of(type(fresh), arrays, "state")
    if any(new.dtype != old.dtype or new.ndim != old.ndim for new, old in zip(fresh, stored, strict=True)):
        return False
    fold.state = stored
    fold.rng = np.random.Generator(np.random.PCG64())
    fold.rng.bit_generator.state = facts["rng"]
    return True


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=32).digest()
