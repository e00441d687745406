// What scripts expect of a browser or of Node and the engine lacks. Bigger parts are read on first use.
(function (kit) {
  "use strict";
  const { host, define, Error } = kit;

  kit.lazy("names", ["text", "assert", "answer", "fail", "parseUrl", "require", "help", "skillList", "skillGet"], true);
  kit.lazy("url", ["URL", "URLSearchParams"]);
  kit.lazy("encoding", ["TextEncoder", "TextDecoder", "atob", "btoa"]);
  kit.lazy("clone", ["structuredClone"]);
  kit.lazy("crypto", ["crypto"]);

  for (const prototype of [Number.prototype, BigInt.prototype]) {
    define(prototype, "toLocaleString", function (locales, options) {
      kit.localeNumber = kit.localeNumber || kit.evaluate("prelude", "locale")(kit);
      return kit.localeNumber(this.valueOf(), options);
    }, false);
  }

  // A realm may have been made before its process was forked: its random numbers must not be its siblings'.
  const random = Math.random;
  let shift = -1;
  define(Math, "random", () => {
    if (shift < 0) shift = parseInt(host("random", 6), 16) / 2 ** 48;
    return (random() + shift) % 1;
  }, false);

  if (globalThis.queueMicrotask === undefined) {
    define(globalThis, "queueMicrotask", (task) => { Promise.resolve().then(task); }, false);
  }
  if (globalThis.performance === undefined) {
    const origin = Date.now();
    define(globalThis, "performance", { now: () => Date.now() - origin }, false);
  }
  for (const name of ["setTimeout", "setInterval", "setImmediate", "requestAnimationFrame"]) {
    define(globalThis, name, () => {
      throw new Error(name + " is not available: use sleep(ms), which waits and then goes on");
    }, false);
  }
  for (const name of ["clearTimeout", "clearInterval"]) define(globalThis, name, () => {}, false);
})
