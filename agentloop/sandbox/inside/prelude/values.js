// What a value becomes on its way out, what it loses on the way, and how an error is described.
(function (kit) {
  "use strict";
  const { stringify, apply, method, push, isArray, getPrototypeOf, Error } = kit;
  const { Map, Set, Date, RegExp, ArrayBuffer, Uint8Array, Symbol, Number, String, Promise, Object } = globalThis;
  const { keys, getOwnPropertyDescriptor, getOwnPropertySymbols } = Object;
  const arrayFrom = Array.from.bind(Array);
  const mapForEach = method(Map.prototype.forEach), setForEach = method(Set.prototype.forEach);
  const bigText = method(BigInt.prototype.toString), getTime = method(Date.prototype.getTime);
  const seenAdd = method(Set.prototype.add), seenHas = method(Set.prototype.has);
  const isView = ArrayBuffer.isView.bind(ArrayBuffer);
  const SAFE = BigInt(Number.MAX_SAFE_INTEGER);
  const MOST = 20, DEPTH = 200, QUICK = 1000, THOROUGH = 200000, MESSAGE = 4000;

  // A replacer would cost every value; methods on the few odd prototypes cost nothing to the rest.
  let lossy = false;
  const hook = (prototype, toJSON) => kit.define(prototype, "toJSON", toJSON, false);
  hook(BigInt.prototype, function () {
    lossy = true;
    return this >= -SAFE && this <= SAFE ? Number(this) : bigText(this);
  });
  hook(Function.prototype, function () { lossy = true; });
  hook(Promise.prototype, function () { lossy = true; return {}; });
  hook(Map.prototype, function () {
    const members = { __proto__: null };
    mapForEach(this, (value, key) => {
      if (typeof key !== "string") lossy = true;
      members[typeof key === "string" ? key : String(key)] = value;
    });
    return members;
  });
  hook(Set.prototype, function () {
    const items = [];
    setForEach(this, (value) => push(items, value));
    return items;
  });
  hook(Error.prototype, function () { return { name: this.name, message: this.message }; });
  hook(RegExp.prototype, function () { return String(this); });
  hook(ArrayBuffer.prototype, function () { return arrayFrom(new Uint8Array(this)); });
  hook(getPrototypeOf(Uint8Array.prototype), function () { return arrayFrom(this); });
  hook(getPrototypeOf(getPrototypeOf([][Symbol.iterator]())), function () { return arrayFrom(this); });

  // --- losses ---

  const inWords = (value) => {
    switch (typeof value) {
      case "number": return value - value === 0 ? "" : String(value) + " became null";
      case "undefined": return "undefined";
      case "function": return "a function";
      case "symbol": return "a symbol";
      case "bigint": return value >= -SAFE && value <= SAFE ? "a BigInt became a number" : "a BigInt became text";
      default: return "";
    }
  };

  const plain = (value) => {
    const type = typeof value;
    return type === "string" || type === "boolean" || (type === "number" && value - value === 0);
  };

  const losses = (root, most) => {
    const found = [], trail = [], seen = new Set();
    let budget = most, unnamed = 0;
    const shortPath = () => {
      const path = kit.join(trail, "") || "the value";
      return path.length > 200 ? kit.slice(path, 0, 100) + "…" + kit.slice(path, -100) : path;
    };
    const note = (words) => {
      if (found.length < MOST) push(found, shortPath() + ": " + words);
      else unnamed++;
    };
    const visit = (value, step, inArray) => {
      if (--budget < 0) return;
      const words = inWords(value);
      const nested = words === "" && typeof value === "object" && value !== null;
      if (words === "" && !nested) return;
      push(trail, step);
      if (!nested) note(kit.includes(words, " became ") ? words : words + (inArray ? " became null" : " was left out"));
      else if (trail.length < DEPTH && !seenHas(seen, value)) {
        seenAdd(seen, value);
        inside(value);
      }
      trail.length--;
    };
    const items = (list) => {
      for (let i = 0; i < list.length && budget > 0; i++) {
        if (plain(list[i])) budget--;
        else visit(list[i], "[" + i + "]", true);
      }
    };
    const inside = (value) => {
      if (isArray(value)) return items(value);
      if (value instanceof Map) return mapForEach(value, (item, key) => {
        if (typeof key !== "string") note("the Map key " + kit.slice(String(key), 0, 100) + " became text");
        visit(item, "." + String(key), false);
      });
      if (value instanceof Set) return items(value.toJSON());
      if (value instanceof Promise) return note("a promise became {}: await it first");
      if (value instanceof Date) return getTime(value) - getTime(value) === 0 ? undefined : note("an invalid Date became null");
      if (isView(value) && typeof value.length === "number") return items(value);
      if (typeof value.toJSON === "function") return undefined;
      return members(value);
    };
    const members = (value) => {
      const names = keys(value);
      for (let i = 0; i < names.length && budget > 0; i++) {
        // A getter has run once already, for the text: not again for a warning.
        const property = getOwnPropertyDescriptor(value, names[i]);
        if (property === undefined || plain(property.value)) budget--;
        else if (property.get === undefined) {
          visit(property.value, (trail.length > 1 || trail[0] !== "" ? "." : "") + names[i], false);
        }
      }
      if (getOwnPropertySymbols(value).length > 0) note("members named by symbols were left out");
    };
    try {
      visit(root, "", true);
    } catch (_) {
      // A proxy or a strange toJSON: what was found so far is enough.
    }
    if (unnamed > 0) push(found, unnamed + " more values were changed");
    return found;
  };

  kit.serialise = (value) => {
    lossy = false;
    const text = stringify(value);
    if (text === undefined || typeof value === "string") return { text, warnings: [] };
    const thorough = lossy || kit.includes(text, "null");
    return { text, warnings: value === null ? [] : losses(value, thorough ? THOROUGH : QUICK) };
  };

  // --- errors ---

  const short = (text) => text.length > MESSAGE ? kit.slice(text, 0, MESSAGE) + "…" : text;
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
      if (error instanceof Error) {
        described.name = String(error.name);
        described.message = short(String(error.message));
        described.stack = kit.slice(String(error.stack || ""), 0, MESSAGE);
      } else {
        described.message = short(shownThrown(error));
      }
    } catch (_) {
      described.message = "<an exception that cannot be printed>";
    }
    return described;
  };
})
