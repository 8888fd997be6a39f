import { liveParamsSchema } from '@recount/contract';
import type { SpoolNote } from '../spool/spool-folder.ts';

/** The agent's own id of the session where the API takes it, else that of the stream. */
export function toSessionName({ sessionId, streamId }: Pick<SpoolNote, 'sessionId' | 'streamId'>): string {
  const { data } = liveParamsSchema.safeParse({ session_id: sessionId });
  return data?.session_id ?? streamId;
}
