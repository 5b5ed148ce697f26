"""A terminal for the tests: `terminal.py COLUMNS PATIENCE PROGRAM [ARGUMENT...]`.

Starts the program on a pseudo-terminal of its own. Stdin holds one step per line, as JSON: `{"type": TEXT}` writes
to the terminal; `{"see": TEXT}` waits until the program has shown the text behind what the last such step saw,
colours left out, and `<ready>` where the program began to read; `{"end": true}` waits for its end. A step that does not come true within the patience, in seconds,
fails. Afterwards everything that was shown is on stdout, and the exit code is that of the program.
"""

import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time

COLOURS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
# A prompt asks for marks around pasted text once, however often it draws its line.
READY = "\x1b[?2004h"


class Terminal:
    """The end of a pseudo-terminal that people sit at. It reads only while a step waits."""

    def __init__(self, columns, patience, command):
        self.patience = patience
        self.shown = ""
        self.seen = 0
        self.is_over = False
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            size = struct.pack("HHHH", 40, columns, 0, 0)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            os.execvp(command[0], command)

    def read(self, until):
        """Reads what is there; false when the time is over or the program has gone."""
        left = until - time.monotonic()
        if self.is_over or left <= 0:
            return False
        ready, _, _ = select.select([self.descriptor], [], [], left)
        if not ready:
            return False
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:
            data = b""
        self.is_over = not data
        self.shown += data.decode("utf-8", "replace")
        return not self.is_over

    def see(self, text):
        until = time.monotonic() + self.patience
        while True:
            plain = COLOURS.sub("", self.shown.replace(READY, "<ready>"))
            found = plain.find(text, self.seen)
            if found >= 0:
                self.seen = found + len(text)
                return True
            if not self.read(until):
                return False

    def end(self):
        until = time.monotonic() + self.patience
        while self.read(until):
            pass
        return self.is_over


def main():
    columns, patience, command = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    terminal = Terminal(columns, patience, command)
    failed = None
    for line in sys.stdin:
        step = json.loads(line)
        if "type" in step:
            os.write(terminal.descriptor, step["type"].encode())
        elif "see" in step and not terminal.see(step["see"]):
            failed = line
        elif "end" in step and not terminal.end():
            failed = line
        if failed:
            break
    if failed or not terminal.is_over:
        os.kill(terminal.process, 9)
    _, status = os.waitpid(terminal.process, 0)
    sys.stdout.write(terminal.shown)
    if failed:
        sys.exit(f"not within {patience} s: {failed}")
    sys.exit(os.waitstatus_to_exitcode(status))


main()
