/** The project's own instruction files; complete: false where the prompt holds only a beginning. */
declare function projectList(): { name: string, bytes: number, complete: boolean }[];
/** The whole text of one of them. */
declare function projectGet(name: string): string;
