// What a value becomes on its way out, and how an error is described.
(function (kit) {
  "use strict";
  const { apply, append, getPrototypeOf, indexOf, isError, list, method, slice, Error, String } = kit;
  const { Map, Set, RegExp, ArrayBuffer, Uint8Array, Symbol, Number, RangeError, Promise } = globalThis;
  const native = JSON.stringify;
  const TypedArray = getPrototypeOf(Uint8Array);
  const Iterator = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));
  const mapForEach = method(Map.prototype.forEach), setForEach = method(Set.prototype.forEach);
  const mapGet = method(Map.prototype.get), mapSet = method(Map.prototype.set);
  const bigText = method(BigInt.prototype.toString), patternText = method(RegExp.prototype.toString);
  const lengthOf = method(Object.getOwnPropertyDescriptor(TypedArray.prototype, "length").get);
  const SAFE = BigInt(Number.MAX_SAFE_INTEGER);
  const MOST_ITEMS = 1000000, QUICK = 1000, THOROUGH = 200000, MESSAGE = 4000, SMALL_STACK_MB = 1;
  const NONE = list();

  // What one call of stringify has converted so far: a Set that holds itself is then found out as an array would be.
  let converted = null;
  const once = (value, convert) => {
    if (converted === null) converted = new Map();
    let made = mapGet(converted, value);
    if (made === undefined) mapSet(converted, value, made = convert(value));
    return made;
  };

  const members = (map) => {
    const made = { __proto__: null };
    mapForEach(map, (value, key) => {
      if (typeof key !== "string") lossy = true;
      made[typeof key === "string" ? key : String(key)] = value;
    });
    return made;
  };
  const items = (set) => {
    const made = list();
    setForEach(set, (value) => append(made, value));
    return made;
  };
  const numbers = (array) => {
    const made = list();
    for (let i = 0, length = lengthOf(array); i < length; i++) append(made, array[i]);
    return made;
  };
  const yielded = (iterator) => {
    const made = list(), next = iterator.next;
    for (let step; !(step = apply(next, iterator, NONE)).done; append(made, step.value)) {
      if (made.length === MOST_ITEMS) throw new RangeError("an iterator gave more than 1,000,000 values: take those you need");
    }
    return made;
  };

  // A replacer would cost every value; methods on the few odd prototypes cost nothing to the rest.
  let lossy = false;
  const hook = (prototype, toJSON) => kit.define(prototype, "toJSON", toJSON, false);
  hook(BigInt.prototype, function () {
    lossy = true;
    return this >= -SAFE && this <= SAFE ? Number(this) : bigText(this);
  });
  hook(Function.prototype, function () { lossy = true; });
  hook(Promise.prototype, function () { lossy = true; return {}; });
  hook(Map.prototype, function () { return once(this, members); });
  hook(Set.prototype, function () { return once(this, items); });
  hook(Error.prototype, function () { return { name: this.name, message: this.message }; });
  hook(RegExp.prototype, function () { return patternText(this); });
  hook(ArrayBuffer.prototype, function () { return numbers(new Uint8Array(this)); });
  hook(TypedArray.prototype, function () { return numbers(this); });
  hook(Iterator, function () { return once(this, yielded); });

  const explain = (error, value) => {
    if (!isError(error) || error.message !== "circular reference") return;
    kit.define(error, "message", "circular reference" + kit.knot(value) + ": it holds itself", false);
  };
  const stringify = (value, replacer, space) => {
    const outer = converted;
    converted = null;
    try {
      return native(value, replacer, space);
    } catch (error) {
      explain(error, value);
      throw error;
    } finally {
      converted = outer;
    }
  };
  kit.stringify = stringify;
  kit.define(JSON, "stringify", stringify, false);

  // The result's text goes to the host's side at once, where it is searched in a twentieth of the time.
  kit.handOver = (value) => {
    lossy = false;
    const text = stringifyResult(value);
    const suspect = kit.host("result", 0, text === undefined ? "" : text);
    if (text === undefined || value === null || typeof value === "string") return { text, warnings: NONE };
    return { text, warnings: kit.losses(value, lossy || suspect ? THOROUGH : QUICK) };
  };

  // The engine looks for circles in time that grows with the square of the depth: a small stack ends that soon.
  const stringifyResult = (value) => {
    let failure;
    kit.host("stack", SMALL_STACK_MB);
    try {
      return stringify(value);
    } catch (error) {
      failure = error;
    } finally {
      kit.host("stack");
    }
    throw isError(failure) && overflowed(String(failure.message)) ? tooDeep(value) : failure;
  };
  const overflowed = (message) => indexOf(message, "call stack size") >= 0 || indexOf(message, "stack overflow") >= 0;
  const tooDeep = (value) => {
    const levels = kit.host("source", 0, "depth"), place = kit.knot(value) || " (its toJSON gives ever new objects?)";
    const error = new RangeError("the result nests more than " + levels + " levels deep" + place + ": return something flatter");
    kit.define(error, "name", "ResultTooDeep", false);
    return error;
  };

  // --- errors ---

  const short = (text) => text.length > MESSAGE ? slice(text, 0, MESSAGE) + "…" : text;
  const shownThrown = (value) => {
    if (typeof value === "string") return value;
    const text = typeof value === "object" ? stringify(value) : undefined;
    return text === undefined ? String(value) : text;
  };

  kit.describe = (error, where) => {
    // The engine throws null when not even its out-of-memory error fits into memory.
    if (error === null && kit.host("starved")) error = { __proto__: Error.prototype, name: "InternalError", message: "out of memory" };
    const described = { __proto__: null, name: "Thrown", message: "", stack: "", where };
    try {
      if (isError(error)) {
        described.name = String(error.name);
        described.message = short(String(error.message));
        described.stack = slice(String(error.stack || ""), 0, MESSAGE);
      } else {
        described.message = short(shownThrown(error));
      }
    } catch (_) {
      described.message = "<an exception that cannot be printed>";
    }
    return described;
  };
})
