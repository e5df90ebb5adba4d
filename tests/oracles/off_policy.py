"""Off-policy estimates of single decisions, one decision at a time and by their definitions."""

import math


def plain_estimates(action, reward, chance, target, model, tau, root, bound):
    """All that are means of scores; `model[t]` are the click rates of all actions that decision t is judged by.

    `tau` is the largest weight that switch-dr keeps, `root` the square root of shrunk-dr's lambda, `bound` the
    lambda of subgauss-dr.
    """
    sums = dict.fromkeys(["ips", "dm", "dr", "switch-dr", "shrunk-dr", "subgauss-dr"], 0.0)
    weighted = total = 0.0
    for t, (a, r, p) in enumerate(zip(action, reward, chance, strict=True)):
        w, m = target[a] / p, model[t]
        mean = sum(q * rate for q, rate in zip(target, m, strict=True))
        shrunk = w if math.isinf(root) else w * root**2 / (w**2 + root**2)
        sums["ips"] += w * r
        sums["dm"] += mean
        sums["dr"] += mean + w * (r - m[a])
        sums["switch-dr"] += mean + (w * (r - m[a]) if w <= tau else 0.0)
        sums["shrunk-dr"] += mean + shrunk * (r - m[a])
        sums["subgauss-dr"] += mean + w / (1.0 - bound + bound * w) * (r - m[a])
        weighted, total = weighted + w * r, total + w
    return {name: each / len(action) for name, each in sums.items()} | {"snips": weighted / total}


def plain_marginal(action, reward, target, cells, factors):
    """`mips`: the mean outcome of each set of levels of these factors, as often as the target shows them."""
    total = 0.0
    for kind in {tuple(cell[factor] for factor in factors) for cell in cells}:
        own = [a for a, cell in enumerate(cells) if tuple(cell[factor] for factor in factors) == kind]
        outcomes = [r for a, r in zip(action, reward, strict=True) if a in own]
        total += sum(target[a] for a in own) * sum(outcomes) / max(1, len(outcomes))
    return total
