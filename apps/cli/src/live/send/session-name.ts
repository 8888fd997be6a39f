import { liveParamsSchema } from '@recount/contract';
import type { SpoolNote } from '../spool/spool-folder.ts';

/** The agent's own session id if the API accepts it, else the stream's id. */
export function toSessionName({ sessionId, streamId }: Pick<SpoolNote, 'sessionId' | 'streamId'>): string {
  const { data } = liveParamsSchema.safeParse({ session_id: sessionId });
  return data?.session_id ?? streamId;
}
