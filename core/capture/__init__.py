"""Captures: what a tool is started with, what it really recorded, and the round folder that keeps both."""
