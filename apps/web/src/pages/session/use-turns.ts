import type { Message, Outline } from '@recount/contract';
import { type Turn, toConversation } from '@recount/contract/conversation';
import { type UseQueryOptions, type UseQueryResult, useQueries } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { get } from '../../server-data/client.ts';
import { type TurnPage, toPagesOfTurn, toWantedPages } from './turn-pages.ts';
import type { ConversationKey } from './use-outline.ts';

const MAX_PAGE_MESSAGES = 500;
/** The time that turns stay after scrolling past, for scrolling back. */
const KEPT_MS = 30_000;

interface LoadedPages {
  pages: { index: number; messages: Message[] }[];
  error: Error | null;
  retry: () => void;
}

export interface Turns {
  /** Undefined while it, or one of its results, is not loaded. */
  find: (index: number) => Turn | undefined;
  error: Error | null;
  retry: () => void;
}

/** The turns of an outline from `first` to `last`, and some around them, with their texts. */
export function useTurns(key: ConversationKey, outline: Outline, first: number, last: number): Turns {
  const wanted = useMemo(() => toWantedPages(outline, first, last), [outline, first, last]);
  const { pages, error, retry } = useQueries({
    queries: wanted.map((page) => toPageQuery(key, outline.transcript_id, page)),
    combine: joinPages,
  });
  const byId = useMemo(() => {
    const turns = toConversation(pages.flatMap(({ messages }) => messages));
    return new Map(turns.map((turn) => [turn.message.id, turn]));
  }, [pages]);
  // While a session grows, the old turns stay until the new version is loaded.
  const before = useRef(byId);
  const find = (index: number): Turn | undefined => {
    const id = outline.turns[index]?.id ?? '';
    const loaded = new Set(pages.map((page) => page.index));
    const isWhole = toPagesOfTurn(outline.turns, index).every((page) => loaded.has(page));
    return isWhole ? byId.get(id) : before.current.get(id);
  };
  if (byId.size > 0 && pages.length === wanted.length) before.current = byId;
  return { find, error, retry };
}

const toPageQuery = (
  { sessionId, revision }: ConversationKey,
  transcriptId: string,
  page: TurnPage,
): UseQueryOptions<{ index: number; messages: Message[] }> => ({
  queryKey: ['turns', sessionId, transcriptId, revision, page],
  queryFn: async ({ signal }) => ({
    index: page.index,
    messages: await readPage(sessionId, transcriptId, page, signal),
  }),
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: KEPT_MS,
  structuralSharing: false,
  refetchOnWindowFocus: false,
});

function joinPages(results: UseQueryResult<{ index: number; messages: Message[] }>[]): LoadedPages {
  const failed = results.find(({ error }) => error !== null);
  return {
    pages: results.flatMap(({ data }) => data ?? []),
    error: failed?.error ?? null,
    retry: () => void failed?.refetch(),
  };
}

async function readPage(
  sessionId: string,
  transcriptId: string,
  { fromMessageId, messageCount }: TurnPage,
  signal: AbortSignal,
): Promise<Message[]> {
  const messages: Message[] = [];
  let cursor: string | null = null;
  do {
    const page: { messages: Message[]; next_cursor: string | null } = await get('/v1/sessions/{session_id}/messages', {
      parameters: { session_id: sessionId },
      query: {
        transcript_id: transcriptId,
        limit: Math.min(MAX_PAGE_MESSAGES, messageCount - messages.length),
        ...(fromMessageId !== undefined && { from_message_id: fromMessageId }),
        ...(cursor !== null && { cursor }),
      },
      signal,
    });
    messages.push(...page.messages);
    cursor = page.next_cursor;
  } while (cursor !== null && messages.length < messageCount);
  return messages;
}
