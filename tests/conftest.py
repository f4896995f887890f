"""What every test may count on."""

from __future__ import annotations

import signal

# Started in the background of a shell, a process inherits that Ctrl-C is ignored,
# and hands it on to every script that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
