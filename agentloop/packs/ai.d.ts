type AiOptions = string | { system?: string, input?: any };
/** A model's answer to a prompt, as text; counts for the run. options: a system text, or { system, input }: put text from outside into input, which is marked as data. Also require("ai"). */
declare function ai(prompt: string, options?: AiOptions): string;
/** The same, as a JSON value; with a JSON schema it fits that, or an error is thrown. */
declare function aiJSON(prompt: string, schema?: object, options?: AiOptions): any;
