/** The passages of the host's documents that fit a query best, best first; topK is 5 if not given. */
declare function documentSearch(query: string, topK?: number): { documentId: string, documentTitle: string, chunkIndex: number, content: string, score: number }[];
