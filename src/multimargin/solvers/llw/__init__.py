"""Lee-Lin-Wahba: dense solvers, and the hard margin."""
