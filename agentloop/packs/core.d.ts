declare function log(...values: any[]): void;
declare function answer(result: any): never;
declare function fail(reason: string): never;
declare function assert(condition: any, message?: string): void;
declare function sleep(ms: number): void;
declare function require(module: string): any;
declare function help(name?: string): string;
