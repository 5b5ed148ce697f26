"""`python -m qlio`: becomes the executable."""

import os
import sys

from qlio import find_executable

if __name__ == "__main__":
    executable = find_executable()
    os.execv(executable, [executable, *sys.argv[1:]])
