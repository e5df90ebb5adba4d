"""Settings of all tests."""

from hypothesis import settings

# Compilation makes first examples slow, and no test may depend on the machine's speed.
settings.register_profile("rankone", deadline=None, derandomize=True)
settings.load_profile("rankone")
