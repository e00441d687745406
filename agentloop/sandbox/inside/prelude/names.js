// The names every script has whatever its packs: text, assert, answer, fail, parseUrl, require, help, skills.
(function (kit) {
  "use strict";
  const { host, stringify, parse, join, push, Error, String, TypeError, unwrap } = kit;
  const { Object } = globalThis;
  const ANSWER = 97, FAIL = 102; // the wire's kinds "a" and "f"
  const data = (name) => parse(host("source", 0, name));

  const text = (...lines) => {
    const parts = [];
    for (let i = 0; i < lines.length; i++) push(parts, String(lines[i]));
    return join(parts, "\n");
  };

  const assert = (condition, message) => {
    if (condition) return;
    const words = message === undefined || message === null ? "" : String(message).trim();
    throw new Error("assertion failed" + (words === "" ? "" : ": " + words));
  };

  const answered = (result) => {
    if (result === undefined) throw new TypeError("answer() without a value: call answer(result) with what the task asked for");
    if (result !== null && typeof result === "object" && typeof result.then === "function") {
      throw new TypeError("answer() got a promise: await it first");
    }
    if (typeof result === "string") return result;
    if (typeof result === "number") return String(result);
    const json = stringify(result);
    if (json === undefined) throw new TypeError("answer() takes text or JSON data, got a " + typeof result);
    return json;
  };
  const answer = (result) => { unwrap(host("end", ANSWER, stringify(answered(result)))); };

  const fail = (reason, kind = "task_failed") => {
    if (kind !== "task_failed" && kind !== "blocked") {
      throw new TypeError('fail(reason, kind): kind is "task_failed" or "blocked"');
    }
    if (reason === undefined || reason === null || String(reason).trim() === "") {
      throw new TypeError("fail() without a reason: say why the task cannot be done");
    }
    unwrap(host("end", FAIL, stringify({ __proto__: null, reason: kit.show(reason), kind })));
  };

  const parseUrl = (address) => {
    try {
      const { href, protocol, hostname, port, pathname, search, hash } = new globalThis.URL(String(address));
      return { href, protocol, hostname, port, pathname, search, hash };
    } catch (_) {
      return null;
    }
  };

  const modules = { __proto__: null };
  const loading = [];
  const require = (name) => {
    if (typeof name !== "string" || name.trim() === "") throw new TypeError("require(name) needs a module's name");
    if (loading.includes(name)) throw new Error(`require(${name}): a circle: ${join([...loading.slice(loading.indexOf(name)), name], " → ")}`);
    if (modules[name] !== undefined) return modules[name].exports;
    if (kit.functions[name] !== undefined) return kit.functions[name];
    const source = host("source", 0, "module:" + name);
    if (source === "") throw new Error(`require(${name}): module not found; known: ${data("module_names").join(", ") || "none"}`);
    const module = { id: name, exports: {} };
    push(loading, name);
    try {
      kit.evaluate("module", name)(module, module.exports, require);
      modules[name] = module;
    } catch (error) {
      throw new Error(`require(${name}): ${kit.describe(error, "load").message}`);
    } finally {
      loading.length--;
    }
    return module.exports;
  };

  const firstLine = (words) => {
    const line = String(words).trim().split("\n")[0];
    return line.length > 160 ? line.slice(0, 159) + "…" : line;
  };

  const help = (name) => {
    const entries = data("help");
    if (name === undefined || name === null || name === "") {
      const lines = Object.keys(entries).sort().map((key) => `  ${key} — ${firstLine(entries[key])}`);
      return ["What a script can call:", "", ...lines, "", 'help("name") tells more about one of them.'].join("\n");
    }
    const key = typeof name === "function" ? name.name : String(name);
    return Object.prototype.hasOwnProperty.call(entries, key) ? entries[key] : `There is no help for "${key}": help() lists what there is.`;
  };

  const skillList = () => data("skills");
  const skillGet = (name) => {
    if (name === undefined || name === null || String(name).trim() === "") throw new TypeError("skillGet(name) needs a name: skillList() lists them");
    const key = String(name), entries = data("help");
    if (Object.prototype.hasOwnProperty.call(entries, key)) return entries[key];
    const skill = data("skills").find((one) => one.name === key);
    return skill === undefined ? `There is no skill "${key}": skillList() lists what there is.` : skill.description;
  };

  return { text, assert, answer, fail, parseUrl, require, help, skillList, skillGet };
})
