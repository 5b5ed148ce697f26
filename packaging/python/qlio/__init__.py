"""Where the executable of qlio lies."""

import os
import sysconfig

__all__ = ["find_executable"]


def find_executable() -> str:
    """The path of the executable that was installed with this package."""
    schemes = [sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")]
    places = [os.path.join(sysconfig.get_path("scripts", scheme), "qlio") for scheme in schemes]
    for place in places:
        if os.path.isfile(place):
            return place
    raise FileNotFoundError(f"the executable of qlio is in none of {places}; install the package again")
