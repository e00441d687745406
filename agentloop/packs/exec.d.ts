/** Runs a program and waits for it; an exit code is no error. No shell: each argument stands by itself. Needs approval. */
declare function exec(argv: string[], opts?: { cwd?: string, timeoutMs?: number, input?: string, env?: Record<string, string> }): { stdout: string, stderr: string, code: number, timedOut: boolean, truncated?: true, signal?: string };
