"""When glr-uts suspects, tries and starts anew, worked out again from lists of all outcomes."""

from __future__ import annotations

import math

import numpy as np

from tests.oracles import change_point as slow
from tests.oracles.policies import kl


class Alarms:
    """Told who leads and what came of each decision, it says what the policy must have noted."""

    def __init__(self, shape):
        self.shape, self.era, self.all_trials, self.counts = shape, 0, 0, {}
        self.steps = self.spent = self.trials = 0
        self.due, self.centre, self.last = False, -1, 0
        self._watch(-1)

    def _watch(self, leader):
        self.due = self.due or getattr(self, "trial", 0) > 0
        self.centre, self.strange, self.trial, self.history = leader, 0, 0, []
        pulls, clicks = self.counts.get(leader, (0, 0))
        self.known = (pulls, clicks) if pulls else None
        self.recent, self.rate, self.past = 0, 0.0, {}

    def _may_try(self, budget):
        self.due = True
        if self.spent**2 <= budget:
            self.due, self.trial, self.wins, self.cost, self.fresh = False, 1, 0, 0, {}
            self.trials, self.all_trials = self.trials + 1, self.all_trials + 1

    def decide(self, leader):
        self.steps, self.last = self.steps + 1, 0
        self.strange = 0 if leader == self.centre else self.strange + 1
        if self.centre == -1 or self.strange >= 32:
            self._watch(leader)
        if self.due and self.trial == 0 and leader == self.centre:
            self._may_try(self.steps // 4)
        if self.trial:
            self.trial += 1
            self.last = self.trial % 2
            if self.wins >= 8 or self.cost > 128:
                self.due, self.last, self.trial = self.wins < 8, 0, 0
                n, s = self.fresh.get(self.centre, (0, 0))
                for pair, (pulls, clicks) in self.fresh.items():
                    if pair != self.centre:
                        old = self.past.get(pair, (0, 0, 0.0))
                        self.past[pair] = (old[0] + pulls, old[1] + clicks, old[2] + pulls * s / max(n, 1))

    def learn(self, pair, reward):
        if self.last:  # a step of the trial: who won is what was shown
            n, s = self.fresh.get(pair, (0, 0))
            own = self.fresh.get(self.centre, (0, 0))
            self.wins = self.wins + 1 if pair == self.centre else 0
            if pair != self.centre and s * own[0] <= own[1] * n:
                self.cost, self.spent = self.cost + 1, self.spent + 1
        pulls, clicks = self.counts.get(pair, (0, 0))
        self.counts[pair] = pulls + 1, clicks + reward
        if pair == self.centre:
            self.recent = min(self.recent + 1, 32)
            self.rate += (reward - self.rate) / self.recent
            self.history.append(reward)
            if self.trial == 0 and self._suspicious():
                self.history, self.known = [], None
                self._may_try(self.steps)
                return
        elif not self._on_cross(pair):
            return
        elif self.trial == 0:
            if self.recent >= 32:
                old = self.past.get(pair, (0, 0, 0.0))
                self.past[pair] = old[0] + 1, old[1] + reward, old[2] + self.rate
            return
        if self.trial:
            n, s = self.fresh.get(pair, (0, 0))
            self.fresh[pair] = n + 1, s + reward
            if pair != self.centre and self._changed(pair):
                self.counts = dict(self.fresh)
                self.trial, self.due = 0, False
                self._watch(-1)
                self.era, self.steps, self.spent, self.trials, self.due = self.era + 1, 0, 0, 0, False

    def _on_cross(self, pair):
        one, other = divmod(pair, self.shape[1]), divmod(self.centre, self.shape[1])
        return (one[0] == other[0]) != (one[1] == other[1])

    def _error(self):
        return 0.05 / ((self.era + 1) * (self.era + 2))

    def _suspicious(self):
        """Test where a bucket is full, at the splits between buckets; what was known first is a bucket, too."""
        parts, own = [], self.history
        filled = 8 - int(self.known[0]) if self.known is not None and self.known[0] < 8 else 0
        if (len(own) - filled) % 8:  # no bucket is full
            return False
        if self.known is not None and self.known[0] < 8:  # it is filled up first
            fill = 8 - int(self.known[0])
            head, own = own[:fill], own[fill:]
            if len(head) < fill:
                return False
            parts = [(self.known[0] + fill, self.known[1] + sum(head))]
            merged = slow.buckets(np.array([[1.0, reward] for reward in [*[0] * 8, *own]])) if own else []
            merged = [tuple(total) for _, total in merged]
            if merged:  # the first bucket stands for the eight that are known
                merged[0] = (merged[0][0], merged[0][1] + parts[0][1])
                parts = merged
        else:
            parts = [self.known] if self.known is not None else []
            parts += [tuple(total) for _, total in slow.buckets(np.array([[1.0, r] for r in own]))] if own else []
        total = sum(part[0] for part in parts)
        enough = math.log(3.0 * total**1.5 / self._error())
        for split in range(1, len(parts)):
            before, after = (tuple(np.sum(part, axis=0)) for part in (parts[:split], parts[split:]))
            if slow.rate_evidence(before, after) > enough:
                return True
        return False

    def _changed(self, pair):
        (n, s), own = self.fresh[pair], self.fresh.get(self.centre, (0, 0))
        if own[0] == 0:
            return False
        delta = self._error() / (self.trials * (self.trials + 1))
        if s * own[0] > own[1] * n and slow.rate_evidence(own, (n, s)) > math.log((sum(self.shape) - 2) / delta):
            return True
        return self.trial % 4 == 1 and self._ratios_changed(own, -math.log(delta))

    def _ratios_changed(self, own, doubt):
        both = [(self.past[pair], self.fresh[pair]) for pair in self.past if self.fresh.get(pair, (0, 0))[0]]

        def misfit(x):
            found = own[0] * kl(own[1] / own[0], x)
            for (pulls, clicks, levels), (more, more_clicks) in both:
                ratio = max(clicks + more_clicks, 1e-3) / (levels + more * x)
                found += pulls * kl(clicks / pulls, min(ratio * levels / pulls, 0.999))
                found += more * kl(more_clicks / more, min(ratio * x, 0.999))
            return found

        if not both:
            return False
        mean = (own[1] + 0.5) / (own[0] + 1.0)
        least = min(misfit(x) for x in np.geomspace(0.2 * mean, min(0.999, 5.0 * mean), 200))
        return least > 0.5 * len(both) + math.sqrt(len(both) * doubt) + doubt
