"""Off-policy estimates of single decisions, one decision at a time and by their definitions."""

import math


def plain_estimates(action, reward, chance, target, model, tau, root):
    """All that are means of scores; `model[t]` are the click rates of all actions that decision t is judged by.

    `tau` is the largest weight that switch-dr keeps, `root` the square root of shrunk-dr's lambda.
    """
    sums = dict.fromkeys(["ips", "dm", "dr", "switch-dr", "shrunk-dr"], 0.0)
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
        weighted, total = weighted + w * r, total + w
    return {name: each / len(action) for name, each in sums.items()} | {"snips": weighted / total}
