import type { Outline } from '@recount/contract';
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { get } from '../../server-data/client.ts';

/** Identifies a conversation. */
export interface ConversationKey {
  sessionId: string;
  /** A transcript other than the primary one. */
  transcriptId?: string | undefined;
  /** Changes when the session does. */
  revision: string;
}

/** All turns of a session without their texts; with `contains`, only those that contain this text. */
export const useOutline = (
  { sessionId, transcriptId, revision }: ConversationKey,
  contains?: string,
): UseQueryResult<Outline> =>
  useQuery({
    queryKey: ['outline', sessionId, transcriptId, revision, contains],
    queryFn: ({ signal }) =>
      get('/v1/sessions/{session_id}/outline', {
        parameters: { session_id: sessionId },
        query: {
          ...(transcriptId !== undefined && { transcript_id: transcriptId }),
          ...(contains !== undefined && { contains }),
        },
        signal,
      }),
    enabled: contains !== '',
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    structuralSharing: false,
    refetchOnWindowFocus: false,
  });
