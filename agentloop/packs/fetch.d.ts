type FetchOptions = { method?: string, headers?: object, body?: string | URLSearchParams, json?: any, form?: object, auth?: { bearer: string } | { user: string, password: string } };
type FetchResponse = { status: number, ok: boolean, url: string, headers: Record<string, string>, body: string, truncated?: true };
/** One request. Any status is returned, not thrown; header names are lower case; text is cut at 2 MiB (truncated: true). json sends a value as JSON. A host may be asked about. */
declare function fetch(url: string, options?: FetchOptions): FetchResponse;
/** Asks for hosts ("api.example.com:8080") ahead of use. True when all may be reached. */
declare function allowUrls(hosts: string | string[]): boolean;
/** Patterns of what is reached without asking; empty when no list was given. */
declare function fetchWhitelist(): string[];
/** HTML as Markdown, without scripts and hidden parts. */
declare function htmlToMarkdown(html: string): string;
