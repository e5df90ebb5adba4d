"""The worlds and policies of `tests/kinds.py` once more, in plain Python, and the plainest loop that plays them."""

import math

import numpy as np


class FactorsWorld:
    def __init__(self, levels):
        self.levels = levels

    def observe(self, step, rng):
        return []

    def respond(self, shown, rng):
        return [int(rng.random() < self.rate(shown))]

    def rate(self, shown):
        return math.prod(self.levels[factor][level] for factor, level in enumerate(shown))

    def loss(self, shown):
        return math.prod(max(levels) for levels in self.levels) - self.rate(shown)


class FactorsGreedy:
    def __init__(self, shape, epsilon=0.2):
        self.shape, self.epsilon, self.told, self.asked = shape, epsilon, [], 0

    def decide(self, context, rng):
        shown = []
        for factor, size in enumerate(self.shape):
            met = [[clicked for what, (clicked,) in self.told if what[factor] == level] for level in range(size)]
            found = int(np.argmax([(sum(clicks) + 1) / (len(clicks) + 2) for clicks in met]))
            if rng.random() < self.epsilon:
                found = int(rng.random() * size)
            shown.append(found)
        self.asked += 1
        return shown, self.asked % 7

    def learn(self, shown, tag, outcome):
        self.told.append((shown, outcome))


class CascadeWorld:
    def __init__(self, attraction):
        self.attraction = attraction

    def observe(self, step, rng):
        return []

    def respond(self, shown, rng):
        outcome = [0] * len(shown)
        for place, item in enumerate(shown):
            if rng.random() < self.attraction[item]:
                outcome[place] = 1
                if rng.random() >= 0.5:
                    break
        return outcome

    def loss(self, shown):
        best = sorted(self.attraction)[-len(shown) :]
        return _clicked(best) - _clicked([self.attraction[item] for item in shown])


def _clicked(rates):
    return 1 - math.prod(1 - rate for rate in rates)


class Ranking:
    def __init__(self, shape):
        self.seen, self.clicks, self.positions = [0] * shape[0], [0] * shape[0], shape[1]

    def decide(self, context, rng):
        scores = [(clicks + rng.random()) / (seen + 1) for seen, clicks in zip(self.seen, self.clicks, strict=True)]
        return sorted(range(len(scores)), key=lambda item: -scores[item])[: self.positions], 0

    def learn(self, shown, tag, outcome):
        last = max((place for place, clicked in enumerate(outcome) if clicked), default=len(shown) - 1)
        for item, clicked in list(zip(shown, outcome, strict=True))[: last + 1]:
            self.seen[item] += 1
            self.clicks[item] += clicked


class DriftingWorld:
    def __init__(self, rates):
        self.rates = rates.copy()

    def observe(self, step, rng):  # the world moves before anybody looks
        cell = int(rng.random() * len(self.rates)), int(rng.random() * self.rates.shape[1])
        self.rates[cell] = 0.5 * (self.rates[cell] + rng.random())
        if step % 100 == 99:
            self.rates = 1.0 - self.rates
        return []

    def respond(self, shown, rng):
        return [int(rng.random() < self.rates[tuple(shown)])]

    def loss(self, shown):
        return self.rates.max() - self.rates[tuple(shown)]


class VisitorsWorld:
    def __init__(self, rates):
        self.rates = rates

    def observe(self, step, rng):
        self.now = int(rng.random() * len(self.rates))
        return [float(self.now)]

    def respond(self, shown, rng):
        outcome = [int(rng.random() < self.rates[self.now][tuple(shown)])]
        return None if self.now == 2 else outcome

    def loss(self, shown):
        return self.rates[self.now].max() - self.rates[self.now][tuple(shown)]


class Segments:
    def __init__(self, shape):
        self.pulls, self.clicks, self.silent = np.zeros((3, *shape)), np.zeros((3, *shape)), 0

    def decide(self, context, rng):
        segment, cells = int(context[0]), list(np.ndindex(self.pulls.shape[1:]))
        scores = [(self.clicks[segment][cell] + rng.random()) / (self.pulls[segment][cell] + 1) for cell in cells]
        return list(cells[int(np.argmax(scores))]), segment

    def learn(self, shown, tag, outcome):
        if outcome is None:
            self.silent += 1
            return
        self.pulls[tag][tuple(shown)] += 1
        self.clicks[tag][tuple(shown)] += outcome[0]


class UniformPair:
    """The twin of the policy `uniform`, whose decisions nobody learns from."""

    def __init__(self, shape):
        self.shape = shape

    def decide(self, context, rng):
        return [int(rng.random() * size) for size in self.shape], -1

    def learn(self, shown, tag, outcome):
        pass


def plain_regrets(player, world, checkpoints, rng, feedback):
    """Play up to the last checkpoint; return the regret at each."""
    waiting, regrets, regret = [], [], 0.0
    for step in range(checkpoints[-1]):
        for entry in sorted((entry for entry in waiting if entry[0] < step), key=lambda entry: entry[:2]):
            waiting.remove(entry)
            player.learn(*entry[2:])
        context = world.observe(step, rng)
        shown, tag = player.decide(context, rng)
        outcome = world.respond(shown, rng)
        regret += world.loss(shown)
        due = step + feedback.steps
        if feedback.mean > 0:
            due += math.floor(math.log(1 - rng.random()) / math.log(feedback.mean / (1 + feedback.mean)))
        while (due + 1) % feedback.size:
            due += 1
        waiting.append((due, step, shown, tag, outcome))
        if step + 1 in checkpoints:
            regrets.append(regret)
    return regrets
