// Walks through a value for what its JSON does not show: what got lost on the way, and where it holds itself.
(function (kit) {
  "use strict";
  const { append, getPrototypeOf, isArray, join, list, method, slice, String } = kit;
  const { Map, Set, Date, ArrayBuffer, Number, BigInt, Symbol, Promise, Object } = globalThis;
  const { keys, getOwnPropertyDescriptor, getOwnPropertySymbols } = Object;
  const mapForEach = method(Map.prototype.forEach), setForEach = method(Set.prototype.forEach);
  const add = method(Set.prototype.add), has = method(Set.prototype.has), remove = method(Set.prototype.delete);
  const getTime = method(Date.prototype.getTime);
  const isView = ArrayBuffer.isView.bind(ArrayBuffer);
  const SAFE = BigInt(Number.MAX_SAFE_INTEGER);
  const MOST = 20, DEPTH = 200, KNOT_BUDGET = 200000, PATH = 100, NAME = 40;

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

  const emptied = (value) => {
    const parent = getPrototypeOf(value);
    if (parent === null || parent === Object.prototype || typeof value.valueOf() !== "object") return "";
    if (value instanceof Promise) return "a promise became {}: await it first";
    if (typeof value[Symbol.asyncIterator] === "function") return "an async iterator became {}: read it with for await first";
    const name = slice(String(parent.constructor.name), 0, NAME);
    return "an object of class " + name + " became {}: it has no members of its own";
  };

  const shortPath = (trail) => {
    const path = join(trail, "") || "the value";
    return path.length > 2 * PATH ? slice(path, 0, PATH) + "…" + slice(path, -PATH) : path;
  };
  const named = (trail, name) => (trail.length > 1 || (trail.length === 1 && trail[0] !== "") ? "." : "") + name;

  kit.losses = (root, most) => {
    const found = list(), trail = list(), seen = new Set();
    let budget = most, unnamed = 0;
    const note = (words) => {
      if (found.length < MOST) append(found, shortPath(trail) + ": " + words);
      else unnamed++;
    };
    const visit = (value, step, inArray) => {
      if (--budget < 0) return;
      const words = inWords(value);
      const nested = words === "" && typeof value === "object" && value !== null;
      if (words === "" && !nested) return;
      append(trail, step);
      if (!nested) note(kit.includes(words, " became ") ? words : words + (inArray ? " became null" : " was left out"));
      else if (trail.length < DEPTH && !has(seen, value)) {
        add(seen, value);
        inside(value);
      }
      trail.length--;
    };
    const items = (values) => {
      for (let i = 0; i < values.length && budget > 0; i++) {
        if (plain(values[i])) budget--;
        else visit(values[i], "[" + i + "]", true);
      }
    };
    const inside = (value) => {
      if (isArray(value)) return items(value);
      if (value instanceof Map) return mapForEach(value, (item, key) => {
        if (typeof key !== "string") note("the Map key " + slice(String(key), 0, PATH) + " became text");
        visit(item, named(trail, String(key)), false);
      });
      if (value instanceof Set) return items(value.toJSON());
      if (value instanceof Date) return getTime(value) - getTime(value) === 0 ? undefined : note("an invalid Date became null");
      if (isView(value) && typeof value.length === "number") return items(value);
      if (typeof value.toJSON === "function" && !(value instanceof Promise)) return undefined;
      return members(value);
    };
    const members = (value) => {
      const names = keys(value);
      const words = names.length === 0 ? emptied(value) : "";
      if (words !== "") note(words);
      for (let i = 0; i < names.length && budget > 0; i++) {
        // A getter has run once already, for the text: not again for a warning.
        const property = getOwnPropertyDescriptor(value, names[i]);
        if (property === undefined || plain(property.value)) budget--;
        else if (property.get === undefined) visit(property.value, named(trail, names[i]), false);
      }
      if (getOwnPropertySymbols(value).length > 0) note("members named by symbols were left out");
    };
    try {
      visit(root, "", true);
    } catch (_) {
      // A proxy or a strange toJSON: what was found so far is enough.
    }
    if (unnamed > 0) append(found, unnamed + " more values were changed");
    return found;
  };

  const eachChild = (value, visit) => {
    if (isArray(value)) for (let i = 0; i < value.length; i++) visit(value[i], "[" + i + "]");
    else if (value instanceof Map) mapForEach(value, (item, key) => visit(item, "." + String(key)));
    else if (value instanceof Set) {
      let i = 0;
      setForEach(value, (item) => visit(item, "[" + i++ + "]"));
    } else {
      const names = keys(value);
      for (let i = 0; i < names.length; i++) {
        const property = getOwnPropertyDescriptor(value, names[i]);
        if (property !== undefined) visit(property.value, "." + names[i]);
      }
    }
  };

  // " at .a.b", where that holds itself or nests too deeply; "" when the walk does not come by it.
  kit.knot = (root) => {
    const trail = list(), above = new Set(), done = new Set();
    let budget = KNOT_BUDGET, path = "";
    const walk = (value) => {
      if (path !== "" || value === null || typeof value !== "object" || --budget < 0 || has(done, value)) return;
      if (has(above, value) || trail.length === DEPTH) {
        path = " at " + shortPath(trail);
        return;
      }
      add(above, value);
      eachChild(value, (child, step) => {
        append(trail, step);
        walk(child);
        trail.length--;
      });
      remove(above, value);
      add(done, value);
    };
    try {
      walk(root);
    } catch (_) {
      // A proxy or a getter that throws: the message goes without its place.
    }
    return path;
  };
})
