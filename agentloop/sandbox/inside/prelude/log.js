// log and print: every line goes to the host at once, so that none is lost when a script is killed.
(function (kit) {
  "use strict";
  const { host, stringify, append, define, indexOf, isError, join, lines, list, method, slice, String } = kit;
  const LONGEST = 1 << 20;
  const PLACE = "<input>:", OURS = 20000;

  const ours = (frame) => {
    const at = indexOf(frame, PLACE);
    return at >= 0 && slice(frame, at + PLACE.length, at + PLACE.length + 5) >= OURS;
  };
  const scriptFrames = (stack) => {
    const kept = list(), frames = lines(String(stack || ""));
    for (let i = 0; i < frames.length; i++) {
      if (frames[i] !== "" && !ours(frames[i]) && !kit.includes(frames[i], "(native)")) append(kept, frames[i]);
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
      if (isError(value)) {
        const frames = scriptFrames(value.stack);
        return value.name + ": " + value.message + (frames === "" ? "" : "\n" + frames);
      }
      const text = stringify(value);
      return text === undefined ? String(value) : text;
    } catch (error) {
      return "[cannot be shown: " + (isError(error) ? error.message : "it threw") + "]";
    }
  };

  const shown = (values) => {
    const words = list();
    for (let i = 0; i < values.length; i++) append(words, show(values[i]));
    return join(words, " ");
  };

  const repeat = method(String.prototype.repeat);
  const emit = (line) => {
    let text = line;
    if (kit.logDepth > 0) {
      const pad = repeat("  ", kit.logDepth);
      text = pad + join(lines(text), "\n" + pad);
    }
    if (text.length > LONGEST) {
      const left = text.length - LONGEST;
      text = slice(text, 0, LONGEST / 2) + "\n… [" + left + " characters of this line omitted] …\n" + slice(text, -LONGEST / 2);
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
