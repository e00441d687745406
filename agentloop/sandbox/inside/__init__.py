"""The program that runs scripts. Nothing in here may import more than the standard library and `_quickjs`."""
