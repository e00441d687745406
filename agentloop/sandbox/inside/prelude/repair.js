// Second chances for a script that does not compile: `export`, and `await` or `return` outside any function.
(function (tools) {
  "use strict";
  const { compiles, AsyncFunction, indirectEval, suffix, args } = tools;
  const VALUE = /^([ \t]*)export[ \t]+default[ \t]+(?=(async[ \t]+)?(function[ \t]*\*?[ \t]*\(|\(|[\w$]+[ \t]*=>))/gm;
  const DECLARATION = /^([ \t]*)export[ \t]+(default[ \t]+)?(?=(async|function|class|const|let|var)\b)/gm;
  const LIST = /^[ \t]*export[ \t]*\{[^}]*\}[ \t]*;?/gm;
  const HINTS = [
    [/^\s*import\b/m, "import is not available: use require(name)"],
    [/^\s*export\b/m, "export is not needed: define function run(args)"],
    [/\bawait\b/, "await belongs inside async function run(args)"],
  ];

  const withoutExports = (source) => source.replace(VALUE, "$1var run = ").replace(DECLARATION, "$1").replace(LIST, "");
  const hinted = (error, source) => {
    const hint = HINTS.find(([pattern]) => pattern.test(source));
    if (hint !== undefined) error.message += " (" + hint[1] + ")";
    return error;
  };

  return (source, error) => {
    const plain = withoutExports(source);
    if (plain !== source && compiles(plain)) return indirectEval(plain + suffix);
    let body;
    try {
      body = new AsyncFunction("args", plain + suffix);
    } catch (_) {
      throw hinted(error, source);
    }
    return body(args);
  };
})
