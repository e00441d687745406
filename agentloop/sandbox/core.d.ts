/** The value the last script's run() returned; {} at first. Also the parameter of run. */
declare const args: any;
/** Adds a line to the log you are shown: text as it is, other values as JSON. print and console.log do the same. */
declare function log(...values: any[]): void;
/** Ends the task with this result (text as it is, other values as JSON). Nothing of the script runs after it. */
declare function answer(result: any): never;
/** Ends the task without a result: it cannot be done ("task_failed"), or something bars the way ("blocked"). */
declare function fail(reason: string, kind?: "task_failed" | "blocked"): never;
/** Waits, at most 30000 ms. There is no setTimeout. */
declare function sleep(ms: number): void;
/** Throws when the condition does not hold. */
declare function assert(condition: any, message?: string): void;
/** Its arguments as lines of one text. */
declare function text(...lines: any[]): string;
/** The parts of a URL, or null when it is none. */
declare function parseUrl(url: string): { href: string, protocol: string, hostname: string, port: string, pathname: string, search: string, hash: string } | null;
/** The exports of a module; help() and skillList() name what there is. */
declare function require(name: string): any;
/** What can be called; with a name, more about it. */
declare function help(name?: string): string;
/** The skills there are. */
declare function skillList(): { name: string, description: string, type: string }[];
/** A skill's full text. */
declare function skillGet(name: string): string;
// Every host function waits for its result. name.async(...) returns a promise instead, and name.all(list) runs one call
// for each entry in parallel and returns the results in order: an entry is the call's only argument, or {spread: [a, b]} for several.
