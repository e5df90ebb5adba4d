"""Snapshots: a fold as plain arrays, so that opening an experiment need not read its whole journal.

A snapshot is a convenience and can be deleted at any time. It is used only if its own checksum is right and the
journal's checksum at its place is the one it was made with; otherwise it is set aside and the journal is read instead.

Where a journal begins behind what was archived, such a snapshot is its *base*, and that is needed. So those of older
layouts must still be read: `load_base` takes over what it knows, and `tests/serving/journals` keeps some.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from rankone.serving.factors import Factors
from rankone.serving.fold import Diverged, Fold
from rankone.serving.journal import PAIRS_VERSION, Events, Kind, damaged
from rankone.serving.open_decisions import Held, Open
from rankone.serving.segments import UNSAID, Segments
from rankone.serving.settings import Settings
from rankone.serving.unknown_policy import policy_of
from rankone.serving.weighing import Weighing

LAYOUT = 10  # of a snapshot; one of another layout is set aside
_WEIGHED = ("evidence", "traffic", "steering", "watch", "together")
_LATER = ("watch", "together")  # of bases from before there were any: they begin there
_COUNTS = ("asked", "pulls", "clicks", "tallies", "prior", "earlier")


def contents(fold: Fold) -> dict[str, Any]:
    """Return all that a fold knows as plain arrays: two folds are the same if these are."""
    numbers = np.array([(number, *opened[:4]) for number, opened in fold.open.items()], np.int64).reshape(-1, 5)
    arrays: dict[str, Any] = {name: getattr(fold, name) for name in _COUNTS}
    for what in _WEIGHED:
        arrays |= {f"{what}_{name}": array for name, array in getattr(fold.weighing, what)._asdict().items()}
    arrays |= fold.segments.arrays()
    if fold.state is not None:
        arrays |= {f"state_{name}": getattr(fold.state, name) for name in fold.state._fields}
    facts = {
        "version": [PAIRS_VERSION, LAYOUT],
        "seq": fold.seq,
        "at": fold.at,
        "chain": fold.chain.hex(),
        "decisions": fold.decisions,
        "amounts": [fold.fillers, fold.learned, fold.expired, fold.voided_by_age, fold.learned_before],
        "tokens": {number: opened.token for number, opened in fold.open.items() if opened.token is not None},
        "crosses": {number: opened.cross.hex() for number, opened in fold.open.items() if opened.cross is not None},
        "weighed": fold.weighing.facts,
        "alarms": fold.alarms,
        "held": [[number, *held] for number, held in fold.held.items()],
        "stopped": fold.stopped,
        "resumed": fold.resumed,
        "excluded": list(fold.exclusions.taken.items()),
        "clock": [fold.clock_ahead, fold.clock_jumped],
        "eras": fold.eras,
        "era_first": fold.era_first,
        "segments": [fold.segments.texts, fold.segments.attributes],
        "visitors": {number: opened.segment for number, opened in fold.open.items() if opened.segment != UNSAID},
        "settings": fold.settings.note(),
        "policy": fold.policy.label,
        **fold.factors.note(),
    }
    facts |= {} if fold.state is None else {"rng": fold.rng.bit_generator.state}
    facts |= {"archives": fold.archives} if fold.archives else {}
    shown = {number: opened.shown.hex() for number, opened in fold.open.items() if opened.shown is not None}
    facts |= {"shown": shown} if shown else {}
    facts |= {"forbidden": fold.forbidden} if fold.forbidden else {}
    arrays["open"] = numbers
    arrays["secrets"] = np.frombuffer(b"".join(opened.secret for opened in fold.open.values()), np.uint8)
    arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    return arrays


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
    if not _intact(body) or of_another_version(body):
        return None
    with np.load(io.BytesIO(body[32:]), allow_pickle=False) as arrays:
        facts = json.loads(arrays["facts"].tobytes())
        if facts["seq"] != seq:
            return None
        if chain_at(seq) != bytes.fromhex(facts["chain"]):
            return None
        fold = Fold(marks)
        if fold.exclusions.after(facts["seq"]):
            return None  # it counts outcomes that were excluded since
        _fill(fold, facts, arrays)
        return fold if _fill_weighing(fold, facts, arrays) and _fill_state(fold, facts, arrays) else None


def load_base(fold: Fold, seq: int, body: bytes) -> Fold:
    """Let a fold begin where its journal does, behind event `seq`: with what was known there, in whatever version.

    A base cannot be set aside, as what came before is in a file. So what this program would keep otherwise begins
    again: evidence with nothing, and the policy on what is known (`Diverged` tells that to who wants it replayed).
    """
    body = bytes(body)
    if not _intact(body):
        raise damaged(seq, "what is known where the journal begins damaged, behind event")
    with np.load(io.BytesIO(body[32:]), allow_pickle=False) as arrays:
        facts = json.loads(arrays["facts"].tobytes())
        if facts["seq"] != seq:
            raise damaged(seq, "what is known at another event where the journal begins, behind event")
        _fill(fold, facts, arrays)
        fold.exclusions.remember((number, opened.token) for number, opened in fold.open.items())
        _fill_weighing(fold, facts, arrays)
        if fold.runs_at(seq) and not ("rng" in facts and _fill_state(fold, facts, arrays)):
            raise Diverged(seq)
    return fold


def digest(body: bytes) -> str:
    """Return the checksum of a snapshot, for others to name it by."""
    return bytes(body[:32]).hex()


def _fill(fold: Fold, facts: dict[str, Any], arrays: Any) -> None:
    """Take over all that is counted, and the decisions that are open."""
    fold.seq, fold.at, fold.chain = facts["seq"], facts["at"], bytes.fromhex(facts["chain"])
    fold.decisions, fold.stopped, fold.resumed = facts["decisions"], facts["stopped"], facts["resumed"]
    fold.clock_ahead, fold.clock_jumped = facts["clock"]
    fold.exclusions.taken |= dict(facts["excluded"])
    fold.fillers, fold.learned, fold.expired, fold.voided_by_age = facts["amounts"][:4]
    fold.learned_before, fold.alarms = sum(facts["amounts"][4:]), facts.get("alarms", [])  # older ones have none
    fold.eras, fold.era_first, fold.archives = facts["eras"], facts["era_first"], facts.get("archives", [])
    fold.settings = Settings.of_note(json.loads(facts["settings"]))
    fold.policy = policy_of(facts["policy"])
    fold.factors = Factors.of_note(facts)
    fold.forbidden = facts.get("forbidden", [])
    fold.place_levels()
    fold.earlier = np.zeros((3, *fold.factors.sizes), np.int64)
    for name in _COUNTS:
        if name in arrays.files:
            setattr(fold, name, _long_enough(arrays[name]) if name == "tallies" else arrays[name])
    secrets, tokens, crosses = arrays["secrets"].tobytes(), facts["tokens"], facts["crosses"]
    visitors = facts["visitors"]
    for place, (number, row, col, tag, at) in enumerate(arrays["open"].tolist()):
        secret, token = secrets[16 * place : 16 * place + 16], tokens.get(str(number))
        cross, packed = (_bytes(found.get(str(number))) for found in (crosses, facts.get("shown", {})))
        fold.open[number] = Open(row, col, tag, at, secret, token, cross, packed, visitors.get(str(number), UNSAID))
    fold.held = {number: Held(*held) for number, *held in facts["held"]}
    fold.due = deque(fold.open) if fold.settings.window else deque()


def _long_enough(tallies: Any) -> Any:
    """Return counts by kind with a place for kinds that came later."""
    return np.concatenate([tallies, np.zeros(max(0, max(Kind) + 1 - len(tallies)), np.int64)])


def _fill_weighing(fold: Fold, facts: dict[str, Any], arrays: Any) -> bool:
    """Take over evidence; return False, with evidence that begins, where this program weighs it otherwise."""
    fold.segments = Segments(fold.factors.sizes)
    # Also where evidence begins: the error of alarms is for all eras together, so each has its number.
    watches = len(fold.eras) - 1
    fold.weighing = Weighing(fold.settings, fold.factors.each, fold.rules, fold.segments, fold.misfit_known, watches)
    texts, attributes = facts["segments"]
    if not fold.segments.restore(texts, attributes, arrays):
        return False
    if attributes is not None:  # older programs forgot those who came before the first segment
        fold.segments.rest_unsaid(fold.asked, fold.pulls, fold.clicks)
    loaded = []
    for what in _WEIGHED:
        fresh = getattr(fold.weighing, what)
        if any(f"{what}_{name}" not in arrays.files for name in fresh._fields):
            if what in _LATER:
                loaded.append(fresh)
                continue
            return False
        loaded.append(fresh._replace(**{name: arrays[f"{what}_{name}"] for name in fresh._fields}))
        if any(old.shape != new.shape for old, new in zip(fresh, loaded[-1], strict=True)):
            return False
    fold.weighing.restore(loaded, [*facts["weighed"], fold.weighing.watches][:3])
    return True


def _fill_state(fold: Fold, facts: dict[str, Any], arrays: Any) -> bool:
    """Take over the policy's state; return False where it has other parts by now."""
    fresh = fold.started()
    if {f"state_{name}" for name in fresh._fields} != {name for name in arrays.files if name.startswith("state_")}:
        return False
    stored = [arrays[f"state_{name}"] for name in fresh._fields]
    if any(new.dtype != old.dtype or new.ndim != old.ndim for new, old in zip(fresh, stored, strict=True)):
        return False
    fold.state = type(fresh)(*stored)
    fold.rng = np.random.Generator(np.random.PCG64())
    fold.rng.bit_generator.state = facts["rng"]
    return True


def of_another_version(body: bytes) -> bool:
    """Return whether a snapshot is as it was made, but by a program whose layout is not read here."""
    if not _intact(body):
        return False
    with np.load(io.BytesIO(body[32:]), allow_pickle=False) as arrays:
        return json.loads(arrays["facts"].tobytes())["version"] != [PAIRS_VERSION, LAYOUT]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def _intact(body: bytes) -> bool:
    return _checksum(body[32:]) == bytes(body[:32])


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=32).digest()
