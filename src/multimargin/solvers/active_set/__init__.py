"""Weston-Watkins and Crammer-Singer: pairs (sample, class) that matter, found by scans."""
