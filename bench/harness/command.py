"""What the commands of this folder share: options with bounds, and an orderly end."""

import argparse
import signal

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def bounded(lowest, highest):
    """The type of an option: a whole number within these bounds."""

    def parse(text):
        value = int(text)
        if not lowest <= value <= highest:
            raise argparse.ArgumentTypeError(f"must be between {lowest} and {highest}")
        return value

    return parse


def names(allowed):
    """The type of an option: names of this list, by commas, which come in its order."""

    def parse(text):
        chosen = [name for name in text.split(",") if name]
        unknown = [name for name in chosen if name not in allowed]
        if unknown or not chosen:
            raise argparse.ArgumentTypeError(f"choose from {','.join(allowed)}")
        return [name for name in allowed if name in chosen]

    return parse


def _interrupted(*_):
    raise KeyboardInterrupt


def interrupt_on_signals():
    """A terminated run cleans up like an interrupted one; a shell may have started us with SIGINT ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
