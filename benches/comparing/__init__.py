"""The parts of benches/compare."""
