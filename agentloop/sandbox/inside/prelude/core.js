// Makes a realm: takes the host bridge, installs names and primitives, runs one script.
// Everything used after the script has begun is kept here first, because a script may replace globals.
(function (parts) {
  "use strict";
  const host = globalThis.__host;
  delete globalThis.__host;

  const { parse } = JSON;
  const { apply, defineProperty, getPrototypeOf, setPrototypeOf, getOwnPropertyDescriptor } = Reflect;
  const { Error, TypeError, SyntaxError, Promise, Array, String } = globalThis;
  // It would hand the frames of an error, and with them our own functions, to the script.
  delete Error.prepareStackTrace;
  const indirectEval = globalThis.eval;
  const Function = getPrototypeOf(function () {}).constructor;
  const AsyncFunction = getPrototypeOf(async function () {}).constructor;
  const method = (f) => (self, ...rest) => apply(f, self, rest);
  const isPrototypeOf = method(Object.prototype.isPrototypeOf);
  const indexOf = method(String.prototype.indexOf), slice = method(String.prototype.slice);

  // Our own lists and property descriptors have no prototype: a script may have put a toJSON, a setter for "0"
  // or a `get` on its ancestors. For the same reason nothing here spreads a list or takes one apart.
  const bare = (list) => setPrototypeOf(list, null) && list;

  const kit = {
    host, parse, apply, defineProperty, getPrototypeOf, Error, TypeError, String, method, indexOf, slice, bare,
    isArray: Array.isArray,
    isError: (value) => isPrototypeOf(Error.prototype, value),
    list: () => bare([]),
    append(list, item) { list[list.length] = item; }, // to a bare list
    push(list, item) { kit.define(list, list.length, item); }, // to any
    join: method(Array.prototype.join),
    includes: (text, part) => indexOf(text, part) >= 0,
    lines(text) {
      const found = kit.list();
      let from = 0;
      for (let at; (at = indexOf(text, "\n", from)) >= 0; from = at + 1) kit.append(found, slice(text, from, at));
      kit.append(found, slice(text, from));
      return found;
    },
    define(owner, name, value, enumerable = true) {
      defineProperty(owner, name, { __proto__: null, value, writable: true, configurable: true, enumerable });
    },
    evaluate: (kind, name) => indirectEval(host("source", 0, kind + ":" + name)),
    // Names that are read from their file when first used; parsing costs more than most scripts do.
    lazy(file, names, enumerable = false) {
      for (const name of names) {
        if (globalThis[name] !== undefined) continue;
        defineProperty(globalThis, name, {
          __proto__: null,
          configurable: true,
          enumerable,
          get() {
            const made = kit.evaluate("prelude", file)(kit);
            for (let i = 0; i < names.length; i++) {
              const key = names[i], now = getOwnPropertyDescriptor(globalThis, key);
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
    const { name, message, code, index } = bare(parse(slice(text, 1)));
    const error = new Error(message);
    kit.define(error, "name", name, false);
    if (code !== undefined) kit.define(error, "code", code);
    if (index !== undefined) kit.define(error, "index", index);
    throw error;
  };
  kit.unwrap = unwrap;

  let sequence = 0, pending = 0;
  const waiting = { __proto__: null };

  const trimmed = (list) => {
    let length = list.length;
    while (length > 0 && list[length - 1] === undefined) length--;
    list.length = length;
    return bare(list);
  };
  const entry = (item) => {
    const several = item !== null && typeof item === "object" ? item.spread : undefined;
    if (!kit.isArray(several)) return trimmed([item]);
    const given = kit.list();
    for (let i = 0; i < several.length; i++) kit.append(given, several[i]);
    return trimmed(given);
  };

  const primitive = (name) => {
    const sync = (...args) => unwrap(host("call", ++sequence, name, kit.stringify(trimmed(args))));
    kit.define(sync, "async", (...args) => new Promise((resolve, reject) => {
      const id = ++sequence;
      const text = kit.stringify(trimmed(args));
      waiting[id] = { __proto__: null, resolve, reject };
      pending++;
      const refused = host("post", id, name, text);
      if (refused) settle(id, refused);
    }), false);
    kit.define(sync, "all", (list) => {
      if (!kit.isArray(list)) throw new TypeError(name + ".all(list) takes an array, one entry for each call");
      const calls = kit.list();
      for (let i = 0; i < list.length; i++) kit.append(calls, entry(list[i]));
      return calls.length === 0 ? [] : unwrap(host("batch", ++sequence, name, kit.stringify(calls)));
    }, false);
    kit.define(sync, "name", name, false);
    return sync;
  };

  const settle = (id, text) => {
    const promised = waiting[id];
    if (promised === undefined) return;
    delete waiting[id];
    pending--;
    let value;
    try {
      value = unwrap(text);
    } catch (error) {
      promised.reject(error);
      return;
    }
    promised.resolve(value);
  };

  const install = (names) => {
    for (const full of names) {
      const path = full.split(".");
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
    kit.call = kit.evaluate("prelude", "functions")(kit, { Function, AsyncFunction, Promise, SyntaxError, then });
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
      const { text, warnings } = kit.handOver(value);
      if (text === undefined && value !== undefined) {
        throw new TypeError("run() must return JSON data, got " + typeof value);
      }
      for (let i = 0; i < warnings.length; i++) kit.append(early, warnings[i]);
      const refused = host("done", 0, kit.stringify(early));
      if (refused) unwrap(refused);
    } catch (error) {
      host("error", 0, kit.stringify(kit.describe(error, "result")));
    }
  };

  const fail = (error, where) => {
    if (ended) return;
    ended = true;
    host("error", 0, kit.stringify(kit.describe(error, where)));
  };

  const thenable = (value) =>
    value !== null && (typeof value === "object" || typeof value === "function") && typeof value.then === "function";
  const then = method(Promise.prototype.then);
  const failRun = (error) => fail(error, "run");
  const follow = (value, next) => {
    if (!thenable(value)) return next(value);
    const promise = isPrototypeOf(Promise.prototype, value) ? value : new Promise((resolve) => resolve(value));
    // Without a constructor of its own, what `then` makes is a plain promise, whatever a script has put in its place.
    kit.define(promise, "constructor", undefined, false);
    then(promise, (result) => {
      try {
        next(result);
      } catch (error) {
        failRun(error);
      }
    }, failRun);
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

  const early = kit.list();
  const parsedArgs = (text) => {
    try {
      return parse(text);
    } catch (_) {
      kit.append(early, "args were not JSON: the script got {} instead");
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
    if (pending > 0) return "wait";
    if (!loose) return "stuck";
    finish(undefined);
    return "ended";
  };

  for (const part of parts) part(kit);
  const operations = { __proto__: null, start, poll, settle };
  return (names, functions) => {
    install(parse(names));
    installFunctions(parse(functions));
    return (operation, first, second) => operations[operation](first, second);
  };
})
