import { buffer } from 'node:stream/consumers';
import { type RawStore, RawStoreError } from './raw-store.ts';

/** Not below `workspaces/`, so that nothing takes it for a transcript. */
export const READINESS_OBJECT_KEY = 'readiness-check';
/** Enough for a disk or a quota to refuse, and little enough to be written every half a minute. */
const CHECK_BYTES = 64 * 1024;

/** As RawStore's `check`. The bytes are always the same: checks of several processes need not know of each other. */
export async function checkStore({ put, get }: Pick<RawStore, 'put' | 'get'>): Promise<void> {
  const bytes = Buffer.alloc(CHECK_BYTES, 'recount checks that the store can be written to and read.\n');
  await put(
    READINESS_OBJECT_KEY,
    (async function* () {
      yield bytes;
    })(),
  );
  const stored = await buffer(await get(READINESS_OBJECT_KEY));
  if (!stored.equals(bytes))
    throw new RawStoreError('unavailable', `Other bytes at ${READINESS_OBJECT_KEY} than were put`);
}
