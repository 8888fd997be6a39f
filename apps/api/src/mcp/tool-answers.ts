import type { ContentBlock, MessageList, SearchResultList, SessionDetail, SessionList } from '@recount/contract';

/** Characters of transcript text in one answer, about a tenth of what a model accepts in one turn. */
const MAX_TEXT_LENGTH = 50_000;
const MAX_PROMPT_LENGTH = 300;

const toSnippet = (parts: SearchResultList['results'][number]['snippet']): string =>
  parts.map(({ text }) => text).join('');

/** Passages found by the search, with their places. */
export function toPassages({ results, ...rest }: SearchResultList): unknown {
  return {
    passages: results.map(({ session_id, message_id, kind, timestamp, project, title, line_number, snippet }) => ({
      ...{ session_id, message_id, kind, timestamp, project, title, line_number },
      snippet: toSnippet(snippet),
    })),
    ...rest,
  };
}

/** One entry for each session, with its best passage, and the number of passages on the page. */
export function toSessionMatches({ results, ...rest }: SearchResultList): unknown {
  const best = new Map<string, SearchResultList['results'][number] & { matches: number }>();
  for (const result of results) {
    const known = best.get(result.session_id);
    if (known === undefined) best.set(result.session_id, { ...result, matches: 1 });
    else known.matches += 1;
  }
  return {
    sessions: [...best.values()].map(({ session_id, title, project, timestamp, kind, snippet, matches }) => ({
      ...{ session_id, title, project, timestamp, matches_on_this_page: matches },
      best_match: { kind, snippet: toSnippet(snippet) },
    })),
    ...rest,
  };
}

type ListedSession = SessionList['sessions'][number];

const toSession = (session: ListedSession) => ({
  ...pick(session, [
    'session_id',
    'agent',
    'title',
    'repository',
    'project',
    'git_branch',
    'person',
    'machine',
    'models',
  ]),
  initial_prompt: cut(session.initial_prompt, MAX_PROMPT_LENGTH),
  ...pick(session, ['is_subagent', 'parent_session_id', 'first_timestamp', 'last_timestamp', 'total_messages']),
  ...pick(session, ['tokens_in', 'tokens_out', 'cache_read', 'cache_write', 'cost_estimate_usd', 'unpriced_count']),
});

/** Sessions with their figures, without fields that are useless to a model. */
export const toSessions = ({ sessions, filters, next_cursor }: SessionList): unknown => ({
  sessions: sessions.map(toSession),
  filters,
  next_cursor,
});

/** A session without its messages. */
export function toOverview(session: SessionDetail): unknown {
  const figures = ['user_messages', 'assistant_messages', 'tool_use_count', 'subagent_count'] as const;
  const times = ['duration_ms', 'agent_version', 'transcript_count'] as const;
  return { ...toSession(session), ...pick(session, figures), ...pick(session, times), usage: session.usage };
}

/** Every message has an equal share of the limit, which its blocks use up in order. */
export function toMessages({ messages, ...rest }: MessageList): unknown {
  const share = Math.floor(MAX_TEXT_LENGTH / Math.max(1, messages.length));
  return {
    ...rest,
    messages: messages.map((message) => {
      let room = share;
      const blocks = message.content_blocks.map((block) => {
        const text = toText(block);
        const shown = cut(text, room, block.metadata);
        room -= shown?.length ?? 0;
        const { block_type: type, tool_name, is_error } = block;
        return { type, ...(tool_name !== null && { tool_name }), ...(is_error !== null && { is_error }), text: shown };
      });
      const {
        id,
        ordinal,
        message_type,
        model,
        timestamp,
        tokens_out,
        cost_usd,
        left_out_block_count: leftOut,
      } = message;
      const more = leftOut > 0 && { left_out_blocks: leftOut };
      return { id, ordinal, type: message_type, model, timestamp, tokens_out, cost_usd, blocks, ...more };
    }),
  };
}

function toText({ content_text, thinking_text, result_text, tool_input, metadata }: ContentBlock): string | null {
  const isBeginning = metadata.truncated === true && typeof tool_input === 'string';
  const input = tool_input === null || tool_input === undefined || isBeginning ? null : JSON.stringify(tool_input);
  return content_text ?? thinking_text ?? result_text ?? input ?? (isBeginning ? tool_input : null);
}

/** Says how much is left out. A block may hold only the beginning of a text, whose length is in `metadata`. */
function cut(text: string | null, length: number, metadata: ContentBlock['metadata'] = {}): string | null {
  const { truncated: isBeginning, original_byte_length: bytes } = metadata;
  if (text === null || (text.length <= length && isBeginning !== true)) return text;
  const end = Math.min(text.length, Math.max(0, length));
  const rest =
    isBeginning !== true
      ? `${text.length - end} more characters`
      : typeof bytes === 'number'
        ? `the beginning of ${bytes} bytes`
        : 'a part is left out';
  return `${text.slice(0, end).toWellFormed()}… (${rest})`;
}

function pick<Source extends object, Key extends keyof Source>(
  source: Source,
  keys: readonly Key[],
): Pick<Source, Key> {
  return Object.fromEntries(keys.map((key) => [key, source[key]])) as Pick<Source, Key>;
}
