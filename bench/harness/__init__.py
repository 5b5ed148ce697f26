"""The parts of `bench/run`, one module per topic; see `bench/README.md`."""
