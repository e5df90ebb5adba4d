"""When glr-uts suspects, tries and starts anew, worked out again from lists of all outcomes."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import rel_entr

from tests.oracles import change_point as slow


def _kl(p, q):
    """Divergence of Bernoulli laws, of many q at once."""
    return rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q)


class Alarms:
    """Told who leads and what came of each decision, it says what the policy must have noted."""

    def __init__(self, shape):
        self.shape, self.era, self.all_trials = shape, 0, 0
        self._begin_era({})

    def _begin_era(self, counts):
        self.counts, self.steps, self.spent, self.trials, self.trial, self.due = counts, 0, 0.0, 0, 0, False
        self.watched, self.centre, self.strange, self.last = {}, -1, 0, 0

    def _watch(self, leader):
        self.due = self.due or self.trial > 0
        self.centre, self.strange, self.trial = leader, 0, 0
        if leader not in self.watched:  # of the last four there is a history: what was known first, and what came since
            pulls, clicks = self.counts.get(leader, (0, 0))
            if len(self.watched) == 4:
                del self.watched[next(iter(self.watched))]
            self.watched[leader] = [(pulls, clicks) if pulls else None, []]
        self.recent, self.rate, self.past = 0, 0.0, {}

    def decide(self, leader):
        self.steps, self.last = self.steps + 1, 0
        self.strange = 0 if leader == self.centre else self.strange + 1
        if self.centre == -1 or self.strange >= 32:
            self._watch(leader)
        if self.due and leader == self.centre and self._may_draw():
            self.due, self.trial, self.wins, self.fresh = False, 1, 0, {}
            self.trials, self.all_trials, self.recent = self.trials + 1, self.all_trials + 1, min(self.recent, 4)
        if self.trial:
            self.trial += 1
            if self.wins >= 8:
                self.trial = 0
                for pair, more in self.fresh.items():
                    if pair != self.centre:
                        self._add(self.past, pair, *more)
            elif self.trial % 2 and self._may_draw():
                self.last = 1

    def _may_draw(self):
        return self.spent**2 * (1.0 + self.trials / 64.0) <= 0.5 * (4_096 + self.steps)

    @staticmethod
    def _add(table, pair, *more):
        table[pair] = tuple(a + b for a, b in zip(table.get(pair, (0, 0, 0.0)), more, strict=True))

    def learn(self, pair, reward):
        if self.last:  # a draw of the trial: who won is what was shown
            n, s, _ = self.fresh.get(pair, (0, 0, 0.0))
            own = self.fresh.get(self.centre, (0, 0, 0.0))
            self.wins = self.wins + 1 if pair == self.centre else 0
            if pair != self.centre:
                self.spent += max(0.1, 1 - (s + 1) / (n + 2) / ((own[1] + 1) / (own[0] + 2)))
        pulls, clicks = self.counts.get(pair, (0, 0))
        self.counts[pair] = pulls + 1, clicks + reward
        if pair in self.watched:
            self.watched[pair][1].append(reward)
            if self._suspicious(*self.watched[pair]):
                self.watched = {each: [None, []] for each in self.watched}
                self.due, self.trial = True, 0
                return
        if pair == self.centre:
            self.recent = min(self.recent + 1, 32)
            self.rate += (reward - self.rate) / self.recent
        elif not self._on_cross(pair):
            return
        if self.trial:
            self._add(self.fresh, pair, 1, reward, self.rate)
            if pair != self.centre and self._changed(pair):
                self.era += 1
                self._begin_era({each: (n, s) for each, (n, s, _) in self.fresh.items()})
        elif pair != self.centre and self.recent >= 32:
            self._add(self.past, pair, 1, reward, self.rate)

    def _on_cross(self, pair):
        one, other = divmod(pair, self.shape[1]), divmod(self.centre, self.shape[1])
        return (one[0] == other[0]) != (one[1] == other[1])

    def _error(self):
        return 0.05 / ((self.era + 1) * (self.era + 2))

    @staticmethod
    def _suspicious(known, own):
        """Test where a bucket is full, at the splits between buckets; what was known first is a bucket, too."""
        parts = []
        filled = 8 - int(known[0]) if known is not None and known[0] < 8 else 0
        if (len(own) - filled) % 8:  # no bucket is full
            return False
        if filled:  # it is filled up first
            head, own = own[:filled], own[filled:]
            if len(head) < filled:
                return False
            parts = [(8, known[1] + sum(head))]
            merged = slow.buckets(np.array([[1.0, reward] for reward in [*[0] * 8, *own]])) if own else []
            merged = [tuple(total) for _, total in merged]
            if merged:  # the first bucket stands for the eight that are known
                merged[0] = (merged[0][0], merged[0][1] + parts[0][1])
                parts = merged
        else:
            parts = [known] if known is not None else []
            parts += [tuple(total) for _, total in slow.buckets(np.array([[1.0, r] for r in own]))] if own else []
        for split in range(1, len(parts)):
            before, after = (tuple(np.sum(part, axis=0)) for part in (parts[:split], parts[split:]))
            if slow.rate_evidence(before, after) > 11.0:
                return True
        return False

    def _changed(self, pair):
        (n, s, levels), own = self.fresh[pair], self.fresh.get(self.centre, (0, 0, 0.0))
        if own[0] == 0:
            return False
        delta, level = self._error() / (self.trials * (self.trials + 1)), min(levels / n, 1.0)
        enough = math.log((sum(self.shape) - 2) / delta) + 0.5 * math.log(1 + n)
        if s > level * n and slow.rate_evidence((own[0], level * own[0]), (n, s)) > enough:
            return True
        return self.trial % 4 == 1 and self._ratios_changed(own, -math.log(delta))

    def _ratios_changed(self, own, doubt):
        both = [(self.past[pair], self.fresh[pair]) for pair in self.past if self.fresh.get(pair, (0, 0, 0.0))[2] > 0]
        both = [(old, new) for old, new in both if old[2] > 0]
        mean = (own[1] + 0.5) / (own[0] + 1.0)

        def misfit(x):
            found = own[0] * _kl(own[1] / own[0], x * mean)
            for (n, s, levels), (more, clicks, now) in both:
                high = np.maximum(levels / n, x * now / more)
                ratio = np.minimum(max(s + clicks, 1e-3) / (levels + x * now), 0.98 / high)
                least = np.full(len(x), np.inf)
                for step in range(6):  # smaller ones, where it makes a rate that is high
                    r = ratio * 0.9**step
                    tried = n * _kl(s / n, r * levels / n) + more * _kl(clicks / more, r * x * now / more)
                    least = np.where((step == 0) | (r / 0.9 * high >= 0.7), np.minimum(least, tried), least)
                found = found + least
            return found

        if not both:
            return False
        least = misfit(np.geomspace(0.2, min(5.0, 0.999 / mean), 200)).min()
        return least > 0.5 * len(both) + math.sqrt(len(both) * doubt) + doubt
