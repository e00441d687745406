// log and print: every line goes to the host at once, so that none is lost when a script is killed.
(function (kit) {
  "use strict";
  const { host, stringify, join, push, Error, define } = kit;
  const { String } = globalThis;
  const LONGEST = 1 << 20;
  const OURS = /<input>:2\d{4}\b/;
  const test = kit.method(RegExp.prototype.test);

  const scriptFrames = (stack) => {
    const kept = [];
    for (const line of kit.split(String(stack || ""), "\n")) {
      if (line !== "" && !test(OURS, line) && !kit.includes(line, "(native)")) push(kept, line);
    }
    return join(kept, "\n");
  };

  const show = (value) => {
    switch (typeof value) {
      case "string": return value;
      case "undefined": return "undefined";
      case "function": return "[function " + (value.name || "anonymous") + "]";
      case "object": break;
      default: return String(value);
    }
    try {
      if (value instanceof Error) {
        const frames = scriptFrames(value.stack);
        return value.name + ": " + value.message + (frames === "" ? "" : "\n" + frames);
      }
      const text = stringify(value);
      return text === undefined ? String(value) : text;
    } catch (error) {
      return "[cannot be shown: " + (error instanceof Error ? error.message : "it threw") + "]";
    }
  };

  const shown = (values) => {
    const words = [];
    for (let i = 0; i < values.length; i++) push(words, show(values[i]));
    return join(words, " ");
  };

  const repeat = kit.method(String.prototype.repeat);
  const emit = (line) => {
    let text = line;
    if (kit.logDepth > 0) {
      const pad = repeat("  ", kit.logDepth);
      text = join([pad, join(kit.split(text, "\n"), "\n" + pad)], "");
    }
    if (text.length > LONGEST) {
      const left = text.length - LONGEST;
      text = join([kit.slice(text, 0, LONGEST / 2), `\n… [${left} characters of this line omitted] …\n`, kit.slice(text, -LONGEST / 2)], "");
    }
    host("log", 0, stringify(text));
  };

  const log = (...values) => emit(shown(values));
  define(globalThis, "log", log);
  define(globalThis, "print", log);
  kit.lazy("console", ["console"], true);
  kit.logDepth = 0;
  kit.show = show;
  kit.shown = shown;
  kit.logLine = emit;
})
