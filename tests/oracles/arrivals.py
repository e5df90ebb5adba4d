"""Policies for arriving users, as written down: every sum over the whole table, every matrix inverted, with NumPy.

Each is played by `play` with outcomes at once. Of the same random numbers those of a fixed order show the same items."""

from __future__ import annotations

import math

import numpy as np

from rankone.numerics.betas.beta import draw_beta


def pick(scores, rng):
    """The largest, ties at random: one number for each further one, as it is found."""
    best, ties = 0, 0
    for item, score in enumerate(scores):
        if ties == 0 or score > scores[best]:
            best, ties = item, 1
        elif score == scores[best]:
            ties += 1
            if rng.random() * ties < 1.0:
                best = item
    return best


def normal(precision, product, rng):
    """Draw from the normal law of this precision; as mean + U^-1 z, U'U the precision."""
    upper = np.linalg.cholesky(precision).T
    z = rng.standard_normal(len(product))
    return np.linalg.solve(precision, product) + np.linalg.solve(upper, z)


def drawn_index(log_weights, rng):
    weights = np.exp(log_weights - np.max(log_weights))
    upto = np.cumsum(weights)
    return min(int(np.searchsorted(upto, rng.random() * upto[-1], side="right")), len(upto) - 1)


def log_shares(members, rng):
    result, left, rest = [], 0.0, float(np.sum(members + 1.0))
    for each in members[:-1]:
        rest -= each + 1.0
        share = min(max(draw_beta(each + rest - 1.0, each, rng), 1e-300), 1.0 - 1e-16)
        result.append(left + math.log(share))
        left += math.log1p(-share)
    return np.array([*result, left])


class Tables:
    """Counts of users and items; sweeps after 1, 2, 4, ... outcomes, then every `period`."""

    def __init__(self, users, items, rng, period):
        self.n, self.s, self.rng = np.zeros((users, items)), np.zeros((users, items)), rng
        self.seen, self.next, self.period, self.news = 0, 0, period, []

    def due(self):
        if self.seen == 0 or (self.period and self.seen >= self.next):
            self.next = self.seen + min(self.period, max(1, self.seen))
            return True
        return False

    def tell(self, user, item, clicked):
        self.seen += 1
        self.news = [(user, item, clicked)]

    def count(self):
        for user, item, clicked in self.news:
            self.n[user, item] += 1
            self.s[user, item] += clicked


class Mixture(Tables):
    def __init__(self, users, items, rng, classes):
        super().__init__(users, items, rng, max(10, users // 2))
        self.theta, self.z, self.shares = np.zeros((classes, items)), None, np.zeros(classes)

    def rate(self, each, item):
        own = self.z == each if self.z is not None else np.zeros(len(self.n), bool)
        drawn = draw_beta(self.n[own, item].sum(), self.s[own, item].sum(), self.rng)
        self.theta[each, item] = min(max(drawn, 1e-6), 1 - 1e-6)

    def rates(self):
        for each in range(len(self.theta)):
            for item in range(self.theta.shape[1]):
                self.rate(each, item)

    def label(self, user):
        n, s = self.n[user], self.s[user]
        logs = self.shares + (s * np.log(self.theta) + (n - s) * np.log(1 - self.theta)).sum(axis=1)
        return drawn_index(logs, self.rng)

    def decide(self, user):
        due = self.due()
        self.count()
        if due:
            if self.z is None:
                self.rates()
            self.z = np.array([self.label(each) for each in range(len(self.n))])
            self.shares = log_shares(np.bincount(self.z, minlength=len(self.theta)), self.rng)
            self.rates()
        else:
            for other, item, _ in self.news:
                self.rate(self.z[other], item)
        self.news = []
        self.z[user] = self.label(user)
        return pick(self.theta[self.z[user]], self.rng)


class LowRank(Tables):
    def __init__(self, users, items, rng, rank, noise=None, scale=None, sweep=500):
        super().__init__(users, items, rng, max(sweep, users) if sweep else 0)
        self.fit_noise, self.fit_scale, self.rank = noise is None, scale is None, rank
        self.noise, self.scale = noise or 0.25, scale or 0.5 * math.sqrt(2 / rank)
        self.u, self.v = np.zeros((users, rank)), np.zeros((items, rank))

    def user(self, user):
        precision = np.eye(self.rank) / self.scale + (self.v.T * self.n[user]) @ self.v / self.noise
        return normal(precision, self.v.T @ self.s[user] / self.noise, self.rng)

    def item(self, item):
        precision = np.eye(self.rank) / self.scale + (self.u.T * self.n[:, item]) @ self.u / self.noise
        return normal(precision, self.u.T @ self.s[:, item] / self.noise, self.rng)

    def decide(self, user):
        due = self.due()
        self.count()
        if due:
            rate = (self.s.sum() + 1) / (self.n.sum() + 2)
            self.noise = rate * (1 - rate) if self.fit_noise else self.noise
            self.scale = rate * math.sqrt(2 / self.rank) if self.fit_scale else self.scale
            for each in range(len(self.u)):
                self.u[each] = self.user(each)
            for each in range(len(self.v)):
                self.v[each] = self.item(each)
        else:
            for other, item, _ in self.news:
                self.u[other] = self.user(other)
                self.v[item] = self.item(item)
        self.news = []
        return pick(self.v @ self.user(user), self.rng)


class UserTS(Tables):
    def decide(self, user):
        self.count()
        self.news = []
        draws = [draw_beta(n, s, self.rng) for n, s in zip(self.n[user], self.s[user], strict=True)]
        return pick(draws, self.rng)


class LinUCB:
    """One ridge regression for all: ``w'x + alpha sqrt(x' M^-1 x log(t + 1))``, M = I + the sum of x x'."""

    def __init__(self, d, rng, alpha):
        self.m, self.b, self.rng, self.alpha, self.t = np.eye(d), np.zeros(d), rng, alpha, 0

    def decide(self, user, x):
        self.t += 1
        inverse = np.linalg.inv(self.m)
        width = np.sqrt(((x @ inverse) * x).sum(axis=1) * math.log(self.t + 1))
        return pick(x @ inverse @ self.b + self.alpha * width, self.rng)

    def tell(self, user, x, payoff):
        self.m, self.b = self.m + np.outer(x, x), self.b + payoff * x


class CLUB(LinUCB):
    """As in Figure 1 of the paper, from its text: sums of a component are added up afresh for each decision."""

    def __init__(self, users, d, rng, alpha, alpha2):
        super().__init__(d, rng, alpha)
        self.each = [LinUCB(d, rng, alpha) for _ in range(users)]
        self.edges = ~np.eye(users, dtype=bool)
        self.alpha2, self.w, self.seen = alpha2, np.zeros((users, d)), np.zeros(users)

    def component(self, user):
        reached = np.zeros(len(self.seen), bool)
        reached[user] = True
        while True:
            more = reached | self.edges[reached].any(axis=0)
            if (more == reached).all():
                return np.flatnonzero(reached)
            reached = more

    def decide(self, user, x):
        d = len(self.b)
        own = self.component(user)
        self.m = np.eye(d) + sum((self.each[u].m - np.eye(d) for u in own), np.zeros((d, d)))
        self.b = sum((self.each[u].b for u in own), np.zeros(d))
        return super().decide(user, x)

    def tell(self, user, x, payoff):
        near = np.sqrt((1 + np.log(1 + self.seen)) / (1 + self.seen))
        far = np.linalg.norm(self.w - self.w[user], axis=1) > self.alpha2 * (near + near[user])
        self.edges[user, far] = self.edges[far, user] = False
        one = self.each[user]
        one.tell(user, x, payoff)
        self.seen[user] += 1
        self.w[user] = np.linalg.solve(one.m, one.b)


class MixtureLinear:
    def __init__(self, users, d, rng, clusters):
        self.rng, self.scale, self.noise = rng, 2.25 / d, 0.25
        self.m, self.b, self.yy, self.t = (
            np.zeros((users, d, d)),
            np.zeros((users, d)),
            np.zeros(users),
            np.zeros(users),
        )
        self.theta, self.shares, self.z = np.zeros((clusters, d)), np.zeros(clusters), np.zeros(users, int)
        self.next = 0

    def misfit(self, user):
        return np.array([theta @ self.m[user] @ theta - 2 * theta @ self.b[user] for theta in self.theta])

    def label(self, user):
        own = self.misfit(user) / (2 * self.noise) if self.t[user] else 0.0
        return drawn_index(self.shares - own, self.rng)

    def sweep(self):
        from rankone.policies.arrivals.mixture_linear_ts import draw_gamma

        self.z = np.array([self.label(user) for user in range(len(self.z))])
        for each in range(len(self.theta)):
            own = self.z == each
            precision = np.eye(len(self.b[0])) / self.scale + self.m[own].sum(axis=0) / self.noise
            self.theta[each] = normal(precision, self.b[own].sum(axis=0) / self.noise, self.rng)
        self.shares = log_shares(np.bincount(self.z, minlength=len(self.theta)), self.rng)
        errors = sum(self.yy[user] + self.misfit(user)[self.z[user]] for user in range(len(self.z)))
        self.noise = (0.01 + errors / 2) / draw_gamma(1 + self.t.sum() / 2, self.rng)

    def decide(self, user, x):
        total = self.t.sum()
        if total >= self.next:
            self.next = total + (20 if total < 2_000 else 100)
            self.sweep()
        self.z[user] = self.label(user)
        return pick(x @ self.theta[self.z[user]], self.rng)

    def tell(self, user, x, payoff):
        self.m[user] += np.outer(x, x)
        self.b[user] += payoff * x
        self.yy[user] += payoff**2
        self.t[user] += 1


def on_simplex(x):
    """The nearest point of the simplex, by sorting (Duchi et al. 2008)."""
    down = np.sort(x)[::-1]
    above = (np.cumsum(down) - 1) / np.arange(1, len(x) + 1)
    return np.maximum(x - above[np.flatnonzero(down > above)[-1]], 0)


class NMF:
    """With explored outcomes only; W is fit to what the users of an item's group explored."""

    def __init__(self, users, items, rng, classes, anchors, theta):
        self.n, self.s, self.rng, self.theta = np.zeros((users, items)), np.zeros((users, items)), rng, theta
        self.a, self.w, self.seen, self.next = np.zeros((users, classes)), np.zeros((classes, items)), 0, 0
        self.anchors = self.shuffled(items)[: 2 * anchors]
        groups, self.group = -(-items // classes), np.full(users, -1)
        for index, user in enumerate(self.shuffled(users)[: 2 * anchors * groups]):
            self.group[user] = index // (2 * anchors)

    def shuffled(self, count):
        order = np.arange(count)
        for index in range(count - 1, 0, -1):
            other = int(self.rng.random() * (index + 1))
            order[[index, other]] = order[[other, index]]
        return order

    def fit(self):
        mean, m = (self.s.sum() + 1) / (self.n.sum() + 2), len(self.w)
        rates = np.where(self.n > 0, self.s / np.maximum(self.n, 1), mean)
        f = rates[:, self.anchors]
        rest, pure = f.copy(), []
        for _ in range(m):
            squares = (rest**2).sum(axis=1)
            pure.append(int(squares.argmax()))
            if squares.max() > 1e-12:
                unit = rest[pure[-1]] / np.sqrt(squares.max())
                rest = rest - np.outer(rest @ unit, unit)
        corners = f[pure]
        gram = corners @ corners.T
        for user in range(len(self.a)):
            own = np.full(m, 1 / m)
            for _ in range(100):
                own = on_simplex(own - (gram @ own - corners @ f[user]) / np.trace(gram))
            self.a[user] = own
        for item in range(self.w.shape[1]):
            fits = (self.group == item // m) & (self.n[:, item] > 0)
            a, y = self.a[fits], rates[fits, item]
            self.w[:, item] = np.linalg.solve(a.T @ a + 1e-6 * np.eye(m), a.T @ y + 1e-6 * mean)

    def decide(self, user):
        (users, items), m, count = self.n.shape, len(self.w), len(self.anchors)
        if self.seen >= self.next:
            self.next = self.seen + min(users, max(1, self.seen))
            self.fit()
        self.explored = self.rng.random() < self.theta * (count + m) * users / (self.seen + 1)
        if not self.explored:
            return pick(self.a[user] @ self.w, self.rng)
        if self.rng.random() * (count + m) < count:
            return int(self.anchors[int(self.rng.random() * count)])
        group = self.group[user]
        some = np.arange(items) if group < 0 else np.arange(group * m, min((group + 1) * m, items))
        return int(some[int(self.rng.random() * len(some))])

    def tell(self, user, item, clicked):
        self.seen += 1
        if self.explored:
            self.n[user, item] += 1
            self.s[user, item] += clicked
