/** The host's documents: list names them; read gives a text, "" for an unknown id; one that is long is cut and says how to go on. */
declare namespace stores {
  function list(): { id: string, title: string, chunkCount: number }[];
  function read(id: string, opts?: { offset?: number }): string;
}
