"""agentloop: a model thinks in JavaScript, a sandbox runs it, a real browser does it."""

__version__ = "0.1.0"
