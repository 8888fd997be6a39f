import type { FoundFile } from '@recount/usage';

/** What may hold usage, before databases are opened. */
export interface Found {
  transcripts: FoundFile[];
  databases: FoundFile[];
}

/** What there is no permission to look into fails where it is read, and is counted so. */
export const toDeniedFile = (path: string): FoundFile => ({ path, sizeBytes: 0, modifiedAtMs: 0 });
