import { type Turn, toConversation } from '@recount/contract/conversation';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { get } from '../../server-data/client.ts';

const PAGE_MESSAGES = 100;

interface Conversation {
  turns: Turn[];
  /** The transcript whose messages these are. */
  transcriptId: string;
  /** Undefined means everything is loaded. */
  loadMore: (() => void) | undefined;
  isFetching: boolean;
  error: Error | null;
  retry: () => void;
}

/** The conversation of a session from its beginningup to the last loaded page. */
export function useConversation(sessionId: string, revision: string): Conversation {
  const pages = useInfiniteQuery({
    queryKey: ['conversation', sessionId, revision],
    queryFn: ({ pageParam, signal }) =>
      get('/v1/sessions/{session_id}/messages', {
        parameters: { session_id: sessionId },
        query: { limit: PAGE_MESSAGES, ...(pageParam !== '' && { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor: next }) => next,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  const { data, hasNextPage, isFetching, fetchNextPage } = pages;
  const turns = useMemo(() => toConversation(data?.pages.flatMap(({ messages }) => messages) ?? []), [data]);
  return {
    turns,
    transcriptId: data?.pages[0]?.transcript_id ?? '',
    loadMore: hasNextPage ? () => void fetchNextPage() : undefined,
    isFetching,
    error: pages.error,
    retry: () => void (data === undefined ? pages.refetch() : fetchNextPage()),
  };
}
