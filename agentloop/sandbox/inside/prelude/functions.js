// Calls the functions that packs bring as JavaScript, and tells the host of each call and each failure.
(function (kit, own) {
  "use strict";
  const { host, push, Error } = kit;
  const { Function, AsyncFunction, Promise, SyntaxError, then } = own;
  const { String } = kit;
  const MOST = 64, SHOWN = 4;
  const compiled = { __proto__: null };
  const under = [];

  const compile = (name) => {
    const source = host("source", 0, "function:" + name);
    try {
      return new Function("args", source);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      try {
        return new AsyncFunction("args", source);
      } catch (_) {
        throw new SyntaxError(name + " cannot be compiled: " + error.message);
      }
    }
  };

  // An error that passes through several of them is told once.
  let told = {};
  const failed = (name, error) => {
    if (error !== told) kit.note(name, String(kit.describe(error, "run").message) || "without a message");
    told = error;
    throw error;
  };

  // Called by each other without end, functions would only stop where the stack does, after as many events.
  const enter = (name) => {
    if (under.length >= MOST) {
      const last = [];
      for (let i = MOST - SHOWN; i < MOST; i++) push(last, under[i]);
      push(last, name);
      throw new Error("functions call each other more than " + MOST + " deep: … " + kit.join(last, " → "));
    }
    push(under, name);
  };

  return (name, args) => {
    enter(name);
    try {
      kit.note(name);
      const run = compiled[name] || (compiled[name] = compile(name));
      const value = run(args === undefined || args === null ? {} : args);
      return value instanceof Promise ? then(value, undefined, (error) => failed(name, error)) : value;
    } catch (error) {
      return failed(name, error);
    } finally {
      under.length--;
    }
  };
})
