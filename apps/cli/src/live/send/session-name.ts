import { liveParamsSchema } from '@recount/contract';
import { ulid } from 'ulid';

/** The agent's own id of the session where the API takes it, else a new one. */
export function toSessionName(agentSessionId: string | null): string {
  const { data } = liveParamsSchema.safeParse({ session_id: agentSessionId });
  return data?.session_id ?? ulid();
}
