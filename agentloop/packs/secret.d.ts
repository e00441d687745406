/** A secret by its name, as a placeholder. Give the placeholder whole to type(), or put it into the headers or body of a request (never a URL) to its host: there the value takes its place. Anywhere else it is worth nothing, and you never see the value. */
declare function secret(name: string): string;
