//# always
/** The browser. A target is a mark's name and number, written as two arguments, browser.click("Save", 9), or a number, a CSS selector, {x, y}; a lone string is the exact name of one mark, else a CSS selector. An act returns what it caused and throws when it cannot be done. */
declare namespace browser {
  type Target = string | number | { x: number; y: number };
  type Receipt = { changed: boolean; url?: string; title?: string; opened?: string[]; downloads?: string[]; appeared?: string; note?: string; value?: string };
  type Mark = { id: number; tag: string; role: string; name: string; x: number; y: number; w: number; h: number; value?: string; checked?: boolean; hint?: string };
  /** Opens an address; one that begins with / belongs to the site shown. */
  function goto(url: string): Receipt;
  function click(target: Target): Receipt;
  /** Replaces what a text field holds; a newline is text unless submit. Dates as 2026-01-31. */
  function type(target: Target, text: string, options?: { submit?: boolean }): Receipt;
  /** Chooses options of a combobox or listbox by their labels. */
  function select(target: Target, labels: string | string[]): Receipt;
  /** Sets a checkbox, switch or radio; on is true if not given. */
  function check(target: Target, on?: boolean): Receipt;
  /** Presses keys ("Enter", "Control+a") in the target, else where the focus is. */
  function press(keys: string, target?: Target): Receipt;
  /** Scrolls the page, or the target, by pixels; one number is downwards. */
  function scroll(dx: number, dy: number, within?: Target): Receipt;
  /** The marks: what could be clicked or typed into now. */
  function mark(filter?: { role?: string; name?: string; within?: string; limit?: number }): Mark[];
  /** Forgets the list; numbers stay good. */
  function unmark(): void;
  function clickMark(id: number): Receipt;
  function typeMark(id: number, text: string): Receipt;
  /** The page as text with its marks, as in PAGE NOW. */
  function look(options?: { chars?: number }): string;
  /** The page's text as Markdown. */
  function markdown(): string;
  /** The text of an element, however long. */
  function text(target: Target): string;
  /** What a form control holds. */
  function value(target: Target): string;
  /** Evaluates JavaScript in the page itself. */
  function eval(expression: string): any;
  function url(): string;
  function title(): string;
  function back(): Receipt;
  function forward(): Receipt;
  function reload(): Receipt;
  /** Wait 30 s, or options.timeout in ms. */
  function waitVisible(selector: string, options?: { timeout?: number }): void;
  function waitReady(selector: string, options?: { timeout?: number }): void;
  function waitText(text: string, options?: { timeout?: number }): void;
  /** Until the address contains part; * stands for anything. */
  function waitUrl(part: string, options?: { timeout?: number }): string;
  /** Waits, 30 s at most. */
  function sleep(ms: number): void;
//# vision
  /** Asks about a picture of the page. */
  function ask(question: string): string;
  /** The same with the marks' numbers drawn in. */
  function askMarks(question: string): string;
//# Pointer
  function hover(target: Target): Receipt;
  function doubleClick(target: Target): Receipt;
  function rightClick(target: Target): Receipt;
  /** Drags the first target onto the second. */
  function drag(from: Target, to: Target): Receipt;
//# Files
  /** Puts files into a file input or the button that opens one. */
  function upload(target: Target, paths: string | string[]): Receipt;
//# Tabs
  function tabs(): { id: string; url: string; title: string; active: boolean }[];
  function switchTab(id: string): void;
  function closeTab(id?: string): void;
//# Dialogs
  /** Dialogs so far; each was answered at once. */
  function dialogs(): { kind: string; message: string; accepted: boolean }[];
  /** How to answer from now on; null returns to the default: alert accepted, others dismissed. */
  function onDialog(answer: { accept: boolean; text?: string } | null): void;
//# Downloads
  /** Files the pages gave. */
  function downloads(): { id: string; name: string; url: string; state: string; size: number }[];
//# always
}
