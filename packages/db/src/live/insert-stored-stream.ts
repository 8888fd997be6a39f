import type { Database } from '../database/database.ts';
import { liveStreams } from './schema.ts';

/** Inserts a stream that is in the raw store already. False, and nothing done, where there is one of that name. */
export async function insertStoredStream(
  transaction: Database,
  stream: Omit<typeof liveStreams.$inferInsert, 'state' | 'has_events'>,
): Promise<boolean> {
  const inserted = await transaction
    .insert(liveStreams)
    .values({ ...stream, state: 'closed', has_events: false })
    .onConflictDoNothing()
    .returning({ id: liveStreams.id });
  return inserted.length > 0;
}
