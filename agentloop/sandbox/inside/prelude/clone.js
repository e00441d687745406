// structuredClone: deep copies with cycles, Map, Set, Date, RegExp, Error and binary data.
(function () {
  "use strict";
  const refuse = (what) => {
    const error = new Error(what + " could not be cloned");
    error.name = "DataCloneError";
    throw error;
  };

  const structuredClone = (root) => {
    const seen = new Map();
    const keep = (value, copy) => (seen.set(value, copy), copy);
    const members = (value, copy) => {
      for (const key of Object.keys(value)) copy[key] = clone(value[key]);
      return copy;
    };
    const clone = (value) => {
      if (typeof value === "function") return refuse("a function");
      if (typeof value === "symbol") return refuse("a symbol");
      if (value === null || typeof value !== "object") return value;
      if (seen.has(value)) return seen.get(value);
      if (Array.isArray(value)) {
        const copy = keep(value, new Array(value.length));
        return members(value, copy);
      }
      if (value instanceof Date) return keep(value, new Date(value.getTime()));
      if (value instanceof RegExp) return keep(value, new RegExp(value.source, value.flags));
      if (value instanceof ArrayBuffer) return keep(value, value.slice(0));
      if (value instanceof DataView) return keep(value, new DataView(clone(value.buffer), value.byteOffset, value.byteLength));
      if (ArrayBuffer.isView(value)) return keep(value, new value.constructor(clone(value.buffer), value.byteOffset, value.length));
      if (value instanceof Map) {
        const copy = keep(value, new Map());
        value.forEach((item, key) => copy.set(clone(key), clone(item)));
        return copy;
      }
      if (value instanceof Set) {
        const copy = keep(value, new Set());
        value.forEach((item) => copy.add(clone(item)));
        return copy;
      }
      if (value instanceof Error) {
        const copy = keep(value, new value.constructor(value.message));
        copy.name = value.name;
        return copy;
      }
      if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) return refuse("this object");
      return members(value, keep(value, {}));
    };
    return clone(root);
  };

  return { structuredClone };
})
