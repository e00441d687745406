// Loaded by Playwright's Node process before its own code. A signal to the whole process group is for the program
// that drives it: that one closes the browser and then this process, by closing its input.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
