"""The command line: each command parses, calls the library once, and prints."""
