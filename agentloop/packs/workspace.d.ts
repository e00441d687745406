/** Text of a file: `limit` lines from line `offset` (from 1) on. A long one is cut, and says so. */
declare function readFile(path: string, opts?: { offset?: number, limit?: number }): string;
/** Writes a text file, whole; makes missing folders. Needs approval, as editFile does. */
declare function writeFile(path: string, content: string): true;
/** Replaces a text that the file has exactly once, or `all`; returns how many. */
declare function editFile(path: string, find: string, replace: string, opts?: { all?: boolean }): number;
/** What is in a folder. */
declare function listDir(path?: string): { name: string, path: string, dir: boolean, size: number }[];
/** Files by pattern: * ? [a-z] {a,b}, and ** for any number of folders. What .gitignore names is left out unless `ignored`. */
declare function glob(pattern: string, opts?: { ignored?: boolean }): string[];
/** Lines that match a regular expression (RE2), in the files of a glob. */
declare function grep(pattern: string, opts?: { glob?: string, limit?: number, ignoreCase?: boolean, ignored?: boolean }): { path: string, line: number, text: string }[];
