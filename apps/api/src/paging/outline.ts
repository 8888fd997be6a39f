import { hasEdit, hasError, type OutlineTurn, type Turn, toContextTokens, toConversation } from '@recount/contract';
import { toPromptTitle } from '@recount/core';
import {
  type Database,
  MAX_OUTLINE_BLOCKS,
  type OutlineMessage,
  type RowSetKey,
  readOutlineMessages,
} from '@recount/db';

/** An outline is in memory, with about a hundred bytes for each message and block. */
const MAX_MESSAGES = 200_000;
const MAX_BLOCKS = 300_000;
/** So few, because each may have a thousand blocks. */
const MESSAGES_PER_READ = 250;

interface TurnOutline {
  message_count: number;
  turns: OutlineTurn[];
  is_cut: boolean;
}

/** The turns of a transcript without their texts; with `contains`, only those that contain it. */
export async function readOutline(
  database: Database,
  rowSet: RowSetKey,
  contains?: string | undefined,
): Promise<TurnOutline> {
  const messages: OutlineMessage[] = [];
  let blockCount = 0;
  let isCut = false;
  for (;;) {
    const afterId = messages.at(-1)?.id;
    const found = await readOutlineMessages(database, rowSet, { afterId, limit: MESSAGES_PER_READ, contains });
    messages.push(...found.messages);
    for (const { content_blocks: blocks } of found.messages) {
      blockCount += blocks.length;
      isCut ||= blocks.length > MAX_OUTLINE_BLOCKS;
    }
    if (found.isLast) break;
    if (messages.length >= MAX_MESSAGES || blockCount >= MAX_BLOCKS) {
      isCut = true;
      break;
    }
  }
  const turns = toConversation(messages);
  return {
    message_count: messages.length,
    turns: (contains === undefined ? turns : turns.filter(isMatch)).map(toOutlineTurn),
    is_cut: isCut,
  };
}

const isMatch = ({ steps }: Turn<OutlineMessage>): boolean =>
  steps.some((step) =>
    step.kind === 'tool' ? step.use.is_match || step.result?.is_match === true : step.block.is_match,
  );

/** The beginning of the first text that says something. */
function toTitle({ steps }: Turn<OutlineMessage>): string | null {
  for (const step of steps) {
    const text = step.kind === 'text' ? (step.block.content_text ?? '') : '';
    const title = toPromptTitle(text);
    if (title !== undefined) return title;
  }
  return null;
}

function toOutlineTurn(turn: Turn<OutlineMessage>): OutlineTurn {
  const { id, ordinal, cost_usd } = turn.message;
  const results = turn.steps.flatMap((step) =>
    step.kind === 'tool' && step.resultMessage !== undefined ? [step.resultMessage.ordinal] : [],
  );
  return {
    id,
    ordinal,
    kind: turn.kind,
    title: turn.kind === 'prompt' ? toTitle(turn) : null,
    is_error: hasError(turn),
    is_edit: hasEdit(turn),
    context_tokens: toContextTokens(turn.message),
    cost_usd,
    result_ordinals: [...new Set(results)],
  };
}
