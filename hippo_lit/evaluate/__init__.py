"""Offline evaluation: data sets, measures, saved runs, and whether a difference is real."""
