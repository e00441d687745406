// Makes a realm: takes the host bridge, installs names and primitives, runs one script.
// Everything used after the script has begun is kept here first, because a script may replace globals.
(function (parts) {
  "use strict";
  const host = globalThis.__host;
  delete globalThis.__host;

  const { stringify, parse } = JSON;
  const { apply, defineProperty, getPrototypeOf, setPrototypeOf, getOwnPropertyDescriptor } = Reflect;
  const { Error, TypeError, SyntaxError, Promise, Map, Array, String } = globalThis;
  const indirectEval = globalThis.eval;
  const Function = getPrototypeOf(function () {}).constructor;
  const AsyncFunction = getPrototypeOf(async function () {}).constructor;
  const method = (f) => (self, ...rest) => apply(f, self, rest);

  const kit = {
    host, stringify, parse, apply, defineProperty, getPrototypeOf, Error, TypeError, method,
    isArray: Array.isArray,
    join: method(Array.prototype.join),
    push: method(Array.prototype.push),
    slice: method(String.prototype.slice),
    includes: method(String.prototype.includes),
    replace: method(String.prototype.replace),
    split: method(String.prototype.split),
    define(owner, name, value, enumerable = true) {
      defineProperty(owner, name, { value, writable: true, configurable: true, enumerable });
    },
    evaluate: (kind, name) => indirectEval(host("source", 0, kind + ":" + name)),
    // Names that are read from their file when first used; parsing costs more than most scripts do.
    lazy(file, names, enumerable = false) {
      for (const name of names) {
        if (globalThis[name] !== undefined) continue;
        defineProperty(globalThis, name, {
          configurable: true,
          enumerable,
          get() {
            const made = kit.evaluate("prelude", file)(kit);
            for (const key of names) {
              const now = getOwnPropertyDescriptor(globalThis, key);
              if (now !== undefined && now.get !== undefined && now.get.file === file) kit.define(globalThis, key, made[key], enumerable);
            }
            return made[name];
          },
          set(value) { kit.define(globalThis, name, value, enumerable); },
        });
        getOwnPropertyDescriptor(globalThis, name).get.file = file;
      }
    },
  };

  // An error that the host sent: "!" and its JSON.
  const unwrap = (text) => {
    if (text[0] !== "!") return parse(text);
    const { name, message, code, index } = parse(kit.slice(text, 1));
    const error = new Error(message);
    kit.define(error, "name", name, false);
    if (code !== undefined) error.code = code;
    if (index !== undefined) error.index = index;
    throw error;
  };
  kit.unwrap = unwrap;

  let sequence = 0;
  const waiting = new Map();
  const waitingSet = method(waiting.set), waitingGet = method(waiting.get), waitingDelete = method(waiting.delete);

  // Our own lists have no prototype: a script may have put a toJSON on its ancestors.
  const bare = (list) => setPrototypeOf(list, null) && list;
  const trimmed = (list) => {
    let length = list.length;
    while (length > 0 && list[length - 1] === undefined) length--;
    list.length = length;
    return bare(list);
  };
  const entry = (item) =>
    item !== null && typeof item === "object" && kit.isArray(item.spread) ? trimmed([...item.spread]) : trimmed([item]);

  const primitive = (name) => {
    const sync = (...args) => unwrap(host("call", ++sequence, name, stringify(trimmed(args))));
    kit.define(sync, "async", (...args) => new Promise((resolve, reject) => {
      const id = ++sequence;
      const text = stringify(trimmed(args));
      waitingSet(waiting, id, [resolve, reject]);
      const refused = host("post", id, name, text);
      if (refused) settle(id, refused);
    }), false);
    kit.define(sync, "all", (list) => {
      if (!kit.isArray(list)) throw new TypeError(name + ".all(list) takes an array, one entry for each call");
      const calls = [];
      for (let i = 0; i < list.length; i++) kit.push(calls, entry(list[i]));
      return calls.length === 0 ? [] : unwrap(host("batch", ++sequence, name, stringify(bare(calls))));
    }, false);
    kit.define(sync, "name", name, false);
    return sync;
  };

  const settle = (id, text) => {
    const pair = waitingGet(waiting, id);
    if (pair === undefined) return;
    waitingDelete(waiting, id);
    let value;
    try {
      value = unwrap(text);
    } catch (error) {
      pair[1](error);
      return;
    }
    pair[0](value);
  };

  const install = (names) => {
    for (const full of names) {
      const path = kit.split(full, ".");
      let owner = globalThis;
      for (let i = 0; i < path.length - 1; i++) {
        if (owner[path[i]] === undefined) kit.define(owner, path[i], {});
        owner = owner[path[i]];
      }
      kit.define(owner, path[path.length - 1], primitive(full));
    }
  };

  // Functions of JavaScript that packs bring: read and compiled when first called.
  kit.functions = { __proto__: null };
  kit.note = primitive("@call");
  kit.call = (name, args) => {
    kit.call = kit.evaluate("prelude", "functions")(kit, { Function, AsyncFunction, SyntaxError, then: method(Promise.prototype.then) });
    return kit.call(name, args);
  };
  const installFunctions = (names) => {
    for (const name of names) {
      const own = (args) => kit.call(name, args);
      kit.define(own, "name", name, false);
      kit.functions[name] = own;
      kit.define(globalThis, name, own);
    }
  };

  // --- running one script ---

  let ended = false, loose = false, repaired = false;

  const finish = (value) => {
    if (ended) return;
    ended = true;
    try {
      const { text, warnings } = kit.serialise(value);
      if (text === undefined && value !== undefined) {
        throw new TypeError("run() must return JSON data, got " + typeof value);
      }
      for (let i = 0; i < warnings.length; i++) kit.push(early, warnings[i]);
      unwrapped(host("done", 0, stringify(bare(early)), value === undefined ? "" : text));
    } catch (error) {
      host("error", 0, stringify(kit.describe(error, "result")));
    }
  };
  const unwrapped = (text) => { if (text) unwrap(text); };

  const fail = (error, where) => {
    if (ended) return;
    ended = true;
    host("error", 0, stringify(kit.describe(error, where)));
  };
  const failRun = (error) => fail(error, "run");

  const then = method(Promise.prototype.then);
  const resolved = Promise.resolve.bind(Promise);
  const thenable = (value) =>
    value !== null && (typeof value === "object" || typeof value === "function") && typeof value.then === "function";
  const follow = (value, next) => {
    if (thenable(value)) then(resolved(value), next, failRun);
    else next(value);
  };

  // The block keeps the script's completion value and hands over what it calls `run`, however declared.
  const CAPTURE = "__script_run";
  const SUFFIX = "\n;{let _=" + CAPTURE + "(typeof run===\"undefined\"?void 0:run)}";
  const HALT = {};

  const compiles = (source) => {
    try {
      indirectEval("throw " + CAPTURE + ".halt;" + source + SUFFIX);
    } catch (error) {
      return error === HALT;
    }
    return true;
  };

  const evaluate = (source) => {
    try {
      return indirectEval(source + SUFFIX);
    } catch (error) {
      if (!(error instanceof SyntaxError) || compiles(source)) throw error;
      // It cannot be compiled as it stands, so nothing of it has run.
      repaired = true;
      return kit.evaluate("prelude", "repair")({ compiles, AsyncFunction, indirectEval, suffix: SUFFIX, args: globalThis.args })(source, error);
    }
  };

  const early = [];
  const parsedArgs = (text) => {
    try {
      return parse(text);
    } catch (_) {
      kit.push(early, "args were not JSON: the script got {} instead");
      return {};
    }
  };

  const start = (source, argsText) => {
    kit.define(globalThis, "args", parsedArgs(argsText));
    let run;
    const capture = (found) => { run = found; };
    capture.halt = HALT;
    kit.define(globalThis, CAPTURE, capture, false);
    const enter = (completion) => {
      delete globalThis[CAPTURE];
      if (typeof run === "function") follow(run(globalThis.args), finish);
      else if (repaired && completion !== undefined) finish(completion);
      else {
        loose = true;
        follow(completion, () => {});
      }
    };
    let completion;
    try {
      completion = evaluate(source);
    } catch (error) {
      fail(error, "load");
      return;
    }
    try {
      // Only a script with an `await` of its own is waited for before its `run` is looked at.
      if (repaired) follow(completion, enter);
      else enter(completion);
    } catch (error) {
      fail(error, "run");
    }
  };

  const poll = () => {
    if (ended) return "ended";
    if (waiting.size > 0) return "wait";
    if (!loose) return "stuck";
    finish(undefined);
    return "ended";
  };

  for (const part of parts) part(kit);
  const operations = { start, poll, settle };
  return (names, functions) => {
    install(parse(names));
    installFunctions(parse(functions));
    return (operation, ...rest) => operations[operation](...rest);
  };
})
