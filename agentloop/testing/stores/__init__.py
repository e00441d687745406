"""Parts of the contract of stores; `agentloop.testing.store_contract` is the whole."""
