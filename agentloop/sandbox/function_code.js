// Tells what is wrong with a function's name or body: {taken}, {reserved}, {message, line}, or nothing. The body is never run.
function run({ name, code }) {
  const halt = {};
  const compiles = (source) => {
    globalThis.__halt = halt;
    try {
      (0, eval)("throw __halt;" + source);
    } catch (error) {
      if (error !== halt) throw error;
    }
  };
  if (name in globalThis) return { taken: true };
  try {
    compiles('async function inner() { "use strict"; let ' + name + "; }");
  } catch (_) {
    return { reserved: true };
  }
  // A body that closes the braces it is put between can be right in one of these places, never in all three.
  const places = [["(", "function (args) {", "\n})"], ["({", " inner(args) {", "\n}})"], ["", "function inner(args) {", "\n}"]];
  const check = (prefix) => {
    for (const [before, head, after] of places) compiles(before + prefix + head + code + after);
  };
  try {
    check("");
  } catch (error) {
    try {
      check("async ");
    } catch (_) {
      const place = /<input>:(\d+)/.exec(String(error.stack));
      return { message: error.message, line: place ? Number(place[1]) : 0 };
    }
  }
}
