"""Drives the pump."""

# start at high water
START = 12
