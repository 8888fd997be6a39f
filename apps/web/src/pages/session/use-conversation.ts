import type { Message } from '@recount/contract';
import { type Turn, toConversation } from '@recount/contract/conversation';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { get } from '../../api/client.ts';

const FIRST_PAGE_MESSAGES = 100;
const PAGE_MESSAGES = 500;

export interface Conversation {
  turns: Turn[];
  messageCount: number;
  /** The transcript whose messages these are. */
  transcriptId: string;
  isComplete: boolean;
  isPending: boolean;
  error: Error | null;
  retry: () => void;
}

/** The whole conversation of a session, page after page: the first one is there to be read while the others come. */
export function useConversation(
  sessionId: string,
  { transcriptId, revision }: { transcriptId?: string | undefined; revision: string },
): Conversation {
  const pages = useInfiniteQuery({
    // A longer version of the session begins again.
    queryKey: ['conversation', sessionId, transcriptId ?? '', revision],
    queryFn: ({ pageParam, signal }) =>
      get('/v1/sessions/{session_id}/messages', {
        parameters: { session_id: sessionId },
        query: {
          limit: pageParam === '' ? FIRST_PAGE_MESSAGES : PAGE_MESSAGES,
          ...(pageParam !== '' && { cursor: pageParam }),
          ...(transcriptId !== undefined && { transcript_id: transcriptId }),
        },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: next }) => next,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage, isError } = pages;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && !isError) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, isError]);
  const messages = useMemo((): Message[] => data?.pages.flatMap((page) => page.messages) ?? [], [data]);
  const turns = useMemo(() => toConversation(messages), [messages]);
  return {
    turns,
    messageCount: messages.length,
    transcriptId: data?.pages[0]?.transcript_id ?? '',
    isComplete: data !== undefined && !hasNextPage,
    isPending: pages.isPending,
    error: pages.error,
    retry: () => void (data === undefined ? pages.refetch() : fetchNextPage()),
  };
}
