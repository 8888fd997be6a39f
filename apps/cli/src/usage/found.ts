import type { SessionPlace } from '@recount/core';
import type { FoundFile, StoredFile } from '@recount/usage';

/** Sources that may contain usage, before databases are opened. */
export interface Found {
  transcripts: FoundFile[];
  databases: FoundFile[];
  /** Symbolic links that are not followed. */
  links: string[];
  /** Set if a later call can tell that nothing has changed. */
  listing?: Listing;
}

/** All files of the agents' places, and the places. */
export interface Listing {
  places: readonly SessionPlace[];
  text: string;
}

/** A link that is not followed. It fails when it is read, and is named. */
export const toLinkFile = (path: string): StoredFile => ({
  ...{ path, sizeBytes: 0, modifiedAtMs: 0, version: '' },
  open() {
    const reason = 'a symbolic link, which is not followed; name its target';
    throw Object.assign(new Error(reason), { code: 'link' });
  },
});

/** A file without read permission. It fails when it is read, and is counted as failed. */
export const toDeniedFile = (path: string): FoundFile => ({ path, sizeBytes: 0, modifiedAtMs: 0 });
