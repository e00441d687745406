// What changes in this document, watched from the first call on; {op: "begin"} opens a period, {op: "wait"} ends it
// once two frames have passed and no node came or went for `quiet` ms, after `cap` ms at the latest.
({ op, quiet, cap }) => {
  // Only what is really defined: an element of the page may have this for its id.
  if (!Object.hasOwn(globalThis, "__agentloopQuiet")) globalThis.__agentloopQuiet = watchDocument();
  const state = globalThis.__agentloopQuiet;
  if (op === "begin") return state.begin();
  return state.wait(quiet, cap);

  function watchDocument() {
    const LATELY = 1000;
    const BUSY = 3;
    const STATE = [
      "class", "hidden", "open", "disabled", "value", "src", "href",
      "aria-expanded", "aria-checked", "aria-selected", "aria-pressed", "aria-hidden", "aria-current", "aria-invalid",
    ];
    const habits = new WeakMap();
    let changes = 0;
    let lastNode = -Infinity;
    let busy = new WeakSet();
    let began = performance.now();

    // A node that changed three times within the second before the period does so by itself: a clock, an animation.
    const byItself = (target, now) => {
      if (busy.has(target)) return true;
      const times = habits.get(target) ?? [];
      times.push(now);
      if (times.length > BUSY) times.shift();
      habits.set(target, times);
      const habitual = times.length === BUSY && times[0] < began && now - times[0] < LATELY;
      if (habitual) busy.add(target);
      return habitual;
    };
    const record = (records) => {
      const now = performance.now();
      for (const target of new Set(records.map((one) => one.target))) {
        const mine = records.filter((one) => one.target === target);
        if (byItself(target, now)) continue;
        changes += mine.length;
        if (mine.some((one) => one.type !== "attributes")) lastNode = now;
      }
    };
    const observer = new MutationObserver(record);
    observer.observe(document, {
      subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: STATE,
    });

    const frame = () =>
      new Promise((next) => {
        requestAnimationFrame(next);
        // A page in the background gets no frames.
        setTimeout(next, 60);
      });

    return {
      begin() {
        record(observer.takeRecords());
        busy = new WeakSet();
        began = performance.now();
        changes = 0;
        lastNode = -Infinity;
        return null;
      },
      async wait(quiet, cap) {
        const start = performance.now();
        await frame();
        await frame();
        record(observer.takeRecords());
        while (performance.now() - lastNode < quiet && performance.now() - start < cap) {
          await frame();
          record(observer.takeRecords());
        }
        return { changes, quiet: performance.now() - lastNode >= quiet };
      },
    };
  }
};
