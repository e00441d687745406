type FetchOptions = { method?: string, headers?: object, body?: string | object, json?: any, form?: object, auth?: { bearer: string } | { user: string, password: string } };
type FetchResponse = { status: number, ok: boolean, url: string, headers: { [name: string]: string }, body: string, truncated?: true };
/** One request. Any status is returned, not thrown; header names are lower case; body is text, cut at 2 MiB (truncated: true). Objects as body are sent as JSON. Hosts that are not allowed yet may be asked for. */
declare function fetch(url: string, options?: FetchOptions): FetchResponse;
/** Asks for hosts ("api.example.com", "http://127.0.0.1:8080") ahead of use. True when all of them may be reached. */
declare function allowUrls(hosts: string | string[]): boolean;
/** The patterns of what may be reached without asking; empty when no list was given. */
declare function fetchWhitelist(): string[];
/** HTML as Markdown, without scripts and hidden parts. */
declare function htmlToMarkdown(html: string): string;
