import type { FoundFile } from '@recount/usage';

/** What may contain usage, before databases are opened. */
export interface Found {
  transcripts: FoundFile[];
  databases: FoundFile[];
}

/** A file without read permission: it fails when it is read, and is counted as failed. */
export const toDeniedFile = (path: string): FoundFile => ({ path, sizeBytes: 0, modifiedAtMs: 0 });
