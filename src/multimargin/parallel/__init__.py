"""Ranks, threads, and how ranks talk."""
