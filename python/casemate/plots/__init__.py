"""Timelines and pictures of results."""
