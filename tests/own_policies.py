"""The policies of the package, without the slow twins that tests define under names of their own."""

import rankone


def own_policies() -> list[str]:
    return sorted(name for name, kind in rankone.known_policies().items() if kind.__module__.startswith("rankone."))
