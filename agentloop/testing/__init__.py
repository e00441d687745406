"""Parts for tests of your own: servers with faults, fixture sites, contract suites. Import the module you need."""
