// console: the levels, tables, counters, timers and groups that scripts know. Its state lasts one script.
(function (kit) {
  "use strict";
  const { show, shown, logLine: emit, isArray } = kit;
  const now = Date.now.bind(Date);
  const log = (...values) => emit(shown(values));
  const prefixed = (prefix) => (...values) => emit(prefix + shown(values));
  const error = prefixed("[error] ");

  const cell = (value) => value === undefined ? "" : show(value);
  const padEnd = kit.method(String.prototype.padEnd);
  const drawn = (rows) => {
    const widths = [];
    for (const row of rows) row.forEach((text, i) => { widths[i] = Math.max(widths[i] || 0, text.length); });
    const lines = rows.map((row) => row.map((text, i) => padEnd(text, widths[i])).join(" | ").trimEnd());
    lines.splice(1, 0, widths.map((width) => "-".repeat(width)).join("-+-"));
    return lines.join("\n");
  };
  const table = (value) => {
    const rows = isArray(value) ? value : [value];
    if (value === null || typeof value !== "object") return log(value);
    const isRow = (row) => row !== null && typeof row === "object";
    const columns = [...new Set(rows.filter(isRow).flatMap((row) => Object.keys(row)))].sort();
    if (!rows.every(isRow) || columns.length === 0) {
      return emit(rows.map((row, i) => i + " | " + cell(row)).join("\n"));
    }
    const body = rows.map((row, i) => [String(i), ...columns.map((column) => cell(row[column]))]);
    return emit(drawn([["(index)", ...columns], ...body]));
  };

  const counts = new Map(), timers = new Map();
  const group = (...label) => {
    if (label.length > 0) log(...label);
    kit.logDepth++;
  };
  const elapsed = (label) => label + ": " + (now() - timers.get(label)) + "ms";

  const console = {
    log, info: log, debug: log, dir: (value) => log(value),
    warn: prefixed("[warn] "), error, trace: prefixed("[trace] "),
    assert: (condition, ...values) => { if (!condition) error("Assertion failed:", ...values); },
    table,
    count: (label = "default") => {
      counts.set(label, (counts.get(label) || 0) + 1);
      emit(label + ": " + counts.get(label));
    },
    countReset: (label = "default") => { counts.delete(label); },
    time: (label = "default") => { timers.set(label, now()); },
    timeLog: (label = "default") => { if (timers.has(label)) emit(elapsed(label)); },
    timeEnd: (label = "default") => {
      if (timers.has(label)) emit(elapsed(label));
      timers.delete(label);
    },
    group, groupCollapsed: group,
    groupEnd: () => { if (kit.logDepth > 0) kit.logDepth--; },
  };

  return { console };
})
