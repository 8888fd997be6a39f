import { findInStores, openSessionStore } from '@recount/collect';
import { SourceError } from '@recount/storage/sources';
import type { FoundFile, StoredFile } from '@recount/usage';
import type { Found } from './found.ts';

/** The transcripts and the databases' sessions, each session once. */
export async function addStored({ transcripts, databases }: Found): Promise<(FoundFile | StoredFile)[]> {
  const stored = await Promise.all(databases.map(listStored));
  // The content of a log is also in the rows of the database beside it.
  const inStores = await findInStores(transcripts.map(({ path }) => path));
  return [...transcripts.filter(({ path }) => !inStores.has(path)), ...stored.flat()];
}

/**
 * The sessions of a database; none if it is no agent's. One that cannot be read fails when it is scanned, as does what is
 * not read of one.
 */
async function listStored({ path, sizeBytes, modifiedAtMs }: FoundFile): Promise<StoredFile[]> {
  const toFailed = (error: SourceError): StoredFile => ({
    ...{ path, sizeBytes, modifiedAtMs, version: '' },
    open() {
      throw error;
    },
  });
  try {
    const store = await openSessionStore(path);
    const sessions = store.listSessions();
    // Each session is read through a separate connection.
    store.close();
    const stored = sessions.map(({ id, version, changedAtMs = modifiedAtMs }) => ({
      path: `${path}!${id}`,
      sizeBytes: 0,
      modifiedAtMs: changedAtMs,
      version,
      open: () => store.readSession(id),
    }));
    return store.notRead === undefined ? stored : [...stored, toFailed(store.notRead)];
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return error.code === 'unsupported' ? [] : [toFailed(error)];
  }
}
