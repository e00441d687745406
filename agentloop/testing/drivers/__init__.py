"""Parts of the contract suite for drivers."""
