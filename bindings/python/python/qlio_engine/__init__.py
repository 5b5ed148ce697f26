"""qlio inside of a Python program: tables and routes of an app, and scripts over them."""

from ._answers import Answer, CallAnswer, Event, QlioError
from ._engine import Engine, Run

__all__ = ["Answer", "CallAnswer", "Engine", "Event", "QlioError", "Run"]
