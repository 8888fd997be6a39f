import type { LiveStream, SessionDetail } from '@recount/contract';
import { useEffect } from 'react';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';

/** Polling interval until an ended stream has become a transcript. */
const SETTLING_MS = 1000;

/** Streams that are not in the transcripts yet, both open ones and those that have just ended. */
export function useUnsettledStreams(
  sessionId: string,
  session: SessionDetail | undefined,
  isEnabled: boolean,
): LiveStream[] {
  const streams = useAnswer('/v1/live', { session_id: sessionId, state: 'all' }, { isEnabled });
  const settled = new Set(
    session?.transcripts.filter(({ status }) => status !== 'queued' && status !== 'processing').map(({ id }) => id),
  );
  const unsettled = (streams.data?.streams ?? []).filter(({ state, transcript_id: id }) =>
    id === null ? state !== 'closed' : !settled.has(id),
  );
  const isSettling = unsettled.some(({ state }) => state !== 'open');
  useEffect(() => {
    if (!isSettling) return;
    const timer = setInterval(() => refreshSession(sessionId), SETTLING_MS);
    return () => clearInterval(timer);
  }, [isSettling, sessionId]);
  return isEnabled ? unsettled : [];
}

/** Reloads the session and its streams. */
export function refreshSession(sessionId: string): void {
  void queryClient.invalidateQueries({ queryKey: ['/v1/sessions/{session_id}', { session_id: sessionId }] });
  void queryClient.invalidateQueries({ queryKey: ['/v1/live'] });
}
