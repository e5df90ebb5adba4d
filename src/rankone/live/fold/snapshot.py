"""Snapshots: a fold as plain arrays, so that opening an experiment need not read its whole journal.

A snapshot is a convenience and can be deleted at any time. It is used only if its own checksum is right and the
journal's checksum at its place is the one it was made with; otherwise it is set aside and the journal is read instead.

Where a journal begins behind what was archived, such a snapshot is its *base*, and that is needed. So whoever changes
`LAYOUT` teaches `load_base` to read the layouts that were released before.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from rankone.errors import JournalError
from rankone.live.evidence.segments import UNSAID, Segments
from rankone.live.evidence.weighing import Weighing
from rankone.live.factors import Factors
from rankone.live.fold.fold import Diverged, Fold
from rankone.live.fold.open_decisions import Held, Open
from rankone.live.fold.unknown_policy import policy_of
from rankone.live.journal.events import Events, damaged
from rankone.live.settings import Settings, as_tuples

LAYOUT = 1  # of a snapshot; one of another layout is set aside
_WEIGHED = ("evidence", "traffic", "steering", "watch", "late")
_COUNTS = ("asked", "pulls", "clicks", "late", "tallies", "prior", "earlier")


def contents(fold: Fold) -> dict[str, Any]:
    """Return all that a fold knows as plain arrays: two folds are the same if these are."""
    numbers = np.array([(number, *opened[:2]) for number, opened in fold.open.items()], np.int64).reshape(-1, 3)
    arrays: dict[str, Any] = {name: getattr(fold, name) for name in _COUNTS}
    for what in _WEIGHED:
        arrays |= {f"{what}_{name}": array for name, array in getattr(fold.weighing, what)._asdict().items()}
    arrays |= fold.segments.arrays()
    if fold.state is not None:
        arrays |= {f"state_{name}": getattr(fold.state, name) for name in fold.state._fields}
    facts = {
        "layout": LAYOUT,
        "seq": fold.seq,
        "at": fold.at,
        "chain": fold.chain.hex(),
        "decisions": fold.decisions,
        "amounts": [fold.fillers, fold.learned, fold.expired, fold.voided_by_age, fold.learned_before],
        "tokens": {number: opened.token for number, opened in fold.open.items() if opened.token is not None},
        "crosses": {number: opened.cross.hex() for number, opened in fold.open.items() if opened.cross is not None},
        "weighed": fold.weighing.facts,
        "alarms": fold.alarms,
        "faults": [fold.faults, fold.weighing.broken, fold.weighing.noted],
        "held": [[number, *held] for number, held in fold.held.items()],
        "stopped": fold.stopped,
        "resumed": fold.resumed,
        "excluded": list(fold.exclusions.taken.items()),
        "clock": [fold.clock_ahead, fold.clock_jumped],
        "eras": fold.eras,
        "era_first": fold.era_first,
        "segments": fold.segments.texts,
        "declared": fold.segments.declared,
        "ignored": fold.segments.ignored,
        "visitors": {number: opened.segment for number, opened in fold.open.items() if opened.segment != UNSAID},
        "settings": fold.settings.note(),
        "policy": fold.policy.label,
        "archives": fold.archives,
        "wanted": list(fold.wanted.items()),
        "shown": [opened.shown.hex() for opened in fold.open.values()],
        "forbidden": fold.forbidden,
        **fold.factors.note(),
    }
    facts |= {} if fold.state is None else {"rng": fold.rng.bit_generator.state}
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
        return fold if _fill_state(fold, facts, arrays) else None


def load_base(fold: Fold, seq: int, body: bytes) -> Fold:
    """Let a fold begin where its journal does, behind event `seq`: with what was known there.

    A base cannot be set aside, as what came before is in a file. So a policy whose state has other parts by now begins
    again on what is known: `Diverged` tells that to who wants it replayed.
    """
    body = bytes(body)
    if not _intact(body):
        raise damaged(seq, "what is known where the journal begins damaged, behind event")
    if of_another_version(body):
        expected = f"a journal that begins with a snapshot of layout {LAYOUT}"
        raise JournalError(expected, "one of another layout", "use the version of rankone that archived it")
    with np.load(io.BytesIO(body[32:]), allow_pickle=False) as arrays:
        facts = json.loads(arrays["facts"].tobytes())
        if facts["seq"] != seq:
            raise damaged(seq, "what is known at another event where the journal begins, behind event")
        _fill(fold, facts, arrays)
        fold.exclusions.remember((number, opened.token) for number, opened in fold.open.items())
        if fold.runs_at(seq) and not ("rng" in facts and _fill_state(fold, facts, arrays)):
            raise Diverged(seq)
    return fold


def digest(body: bytes) -> str:
    """Return the checksum of a snapshot, for others to name it by."""
    return bytes(body[:32]).hex()


def _fill(fold: Fold, facts: dict[str, Any], arrays: Any) -> None:
    """Take over all that is counted and weighed, and the decisions that are open."""
    fold.seq, fold.at, fold.chain = facts["seq"], facts["at"], bytes.fromhex(facts["chain"])
    fold.decisions, fold.stopped, fold.resumed = facts["decisions"], facts["stopped"], facts["resumed"]
    fold.clock_ahead, fold.clock_jumped = facts["clock"]
    fold.exclusions.taken |= dict(facts["excluded"])
    fold.fillers, fold.learned, fold.expired, fold.voided_by_age, fold.learned_before = facts["amounts"]
    fold.eras, fold.era_first, fold.archives = facts["eras"], facts["era_first"], facts["archives"]
    fold.wanted, fold.alarms, fold.forbidden = dict(facts["wanted"]), facts["alarms"], facts["forbidden"]
    fold.settings = Settings.of_note(json.loads(facts["settings"]))
    fold.policy = policy_of(facts["policy"])
    fold.factors = Factors.of_note(facts)
    fold.place_levels()
    for name in _COUNTS:
        setattr(fold, name, arrays[name])
    secrets, tokens, crosses = arrays["secrets"].tobytes(), facts["tokens"], facts["crosses"]
    visitors = facts["visitors"]
    for place, (number, tag, at) in enumerate(arrays["open"].tolist()):
        secret, token = secrets[16 * place : 16 * place + 16], tokens.get(str(number))
        shown, cross = bytes.fromhex(facts["shown"][place]), crosses.get(str(number))
        cross = None if cross is None else bytes.fromhex(cross)
        fold.open[number] = Open(tag, at, secret, shown, token, cross, visitors.get(str(number), UNSAID))
    fold.held = {number: Held(*held) for number, *held in facts["held"]}
    fold.due = deque(fold.open) if fold.settings.window else deque()
    fold.segments = Segments(fold.factors.sizes)
    fold.segments.restore(facts["segments"], as_tuples(facts["declared"]), facts["ignored"], arrays)
    fold.weighing = Weighing(fold.settings, fold.factors.each, fold.rules, fold.segments, fold.misfit_known)
    parts = {what: getattr(fold.weighing, what) for what in _WEIGHED}
    loaded = [type(part)(*(arrays[f"{what}_{name}"] for name in part._fields)) for what, part in parts.items()]
    fold.weighing.restore(loaded, facts["weighed"])
    fold.faults, fold.weighing.broken, fold.weighing.noted = facts["faults"]


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
        return json.loads(arrays["facts"].tobytes()).get("layout") != LAYOUT


def _intact(body: bytes) -> bool:
    return _checksum(body[32:]) == bytes(body[:32])


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=32).digest()
