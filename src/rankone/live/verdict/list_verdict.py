"""What a ranking states about its items: the present list, who surely belongs into it, what is proven."""

import math
from typing import NamedTuple

import numpy as np

from rankone.live.fold.list_fold import ListFold

IN, OUT, OPEN = "in", "out", "open"


class ListVerdict(NamedTuple):
    present: list[int]
    standing: list[str]
    progress: float
    set_proven: bool
    order_proven: bool
    good_enough: bool
    decided: bool
    doubt: float

    @property
    def proven(self):
        return self.set_proven


def present_list(fold: ListFold) -> list[int]:
    return list_verdict(fold).present


def list_verdict(fold: ListFold) -> ListVerdict:
    looks, clicks = fold.taught[:, :, fold.live[0]].sum(axis=1)
    order = np.argsort(-(clicks + 1.0) / (looks + 2.0), kind="stable")
    present = order[: fold.positions]
    L, K = len(order), fold.positions
    proof = fold.evidence.in_time.proof
    bar = math.log(max(1, L * (L - 1)) / fold.evidence.error)
    beats = proof >= bar
    standing = [IN if beats[i].sum() >= L - K else OUT if beats[:, i].sum() >= K else OPEN for i in range(L)]
    pairs = proof[np.ix_(present, np.setdiff1d(order, present))]
    least = pairs.min(initial=math.inf)
    doubt = min(1.0, K * (L - K) * math.exp(-least)) if pairs.size else 0.0
    progress = float(np.mean(pairs >= math.log(K * (L - K) / fold.evidence.error))) if pairs.size else 1.0
    won = bool(pairs.size) and doubt <= fold.evidence.error
    return ListVerdict([int(fold.live[0][i]) for i in present], standing, progress, won, False, False, won, doubt)
