"""Settings of all tests."""

import signal

from hypothesis import settings

# Compilation makes first examples slow, and no test may depend on the machine's speed.
settings.register_profile("rankone", deadline=None, derandomize=True)
settings.load_profile("rankone")

# Whoever starts the tests as a job in the background lets them ignore Ctrl-C, and all that they start would ignore it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
