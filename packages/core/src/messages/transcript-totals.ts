import { COST_UNITS_PER_USD } from '../pricing/price-table.ts';
import type { ParsedContentBlock, TranscriptMessage, TranscriptStats } from '../rows.ts';

/** Names under which Claude Code has offered its sub-agent tool. */
const SUBAGENT_TOOLS = new Set(['Task', 'Agent']);

type TokenColumns = Pick<TranscriptMessage, 'tokens_in' | 'tokens_out' | 'cache_read' | 'cache_write' | 'cost_usd'>;

export interface TranscriptTotals {
  addMessage(message: TranscriptMessage): void;
  addBlock(block: Pick<ParsedContentBlock, 'block_type' | 'tool_name'>): void;
  /** Replaces what a message counted for before (all null for a new one) by what it counts for now. */
  replaceUsage(before: TokenColumns, after: TokenColumns): void;
  /** `initialPrompt` and `durationMs` are the caller's. */
  toStats(initialPrompt: string | null, durationMs: number): TranscriptStats;
}

/** Running totals of a transcript. Cost is summed in whole units of 1e-10 dollars, so no order of lines changes it. */
export function createTranscriptTotals(): TranscriptTotals {
  const counts = { messages: 0, user: 0, assistant: 0, toolUses: 0, thinking: 0, subagents: 0 };
  const sums = { tokensIn: 0, tokensOut: 0, cacheRead: 0, cacheWrite: 0, costUnits: 0 };

  const addUsage = (columns: TokenColumns, sign: 1 | -1): void => {
    sums.tokensIn += sign * (columns.tokens_in ?? 0);
    sums.tokensOut += sign * (columns.tokens_out ?? 0);
    sums.cacheRead += sign * (columns.cache_read ?? 0);
    sums.cacheWrite += sign * (columns.cache_write ?? 0);
    sums.costUnits += sign * Math.round((columns.cost_usd ?? 0) * COST_UNITS_PER_USD);
  };

  return {
    addMessage(message) {
      counts.messages++;
      if (message.message_type === 'user') counts.user++;
      if (message.message_type === 'assistant') counts.assistant++;
    },
    addBlock(block) {
      if (block.block_type === 'tool_use') {
        counts.toolUses++;
        if (block.tool_name !== null && SUBAGENT_TOOLS.has(block.tool_name)) counts.subagents++;
      }
      if (block.block_type === 'thinking' || block.block_type === 'redacted_thinking') counts.thinking++;
    },
    replaceUsage(before, after) {
      addUsage(before, -1);
      addUsage(after, 1);
    },
    toStats(initialPrompt, durationMs) {
      return {
        total_messages: counts.messages,
        user_messages: counts.user,
        assistant_messages: counts.assistant,
        tool_use_count: counts.toolUses,
        thinking_blocks: counts.thinking,
        subagent_count: counts.subagents,
        tokens_in: sums.tokensIn,
        tokens_out: sums.tokensOut,
        cache_read: sums.cacheRead,
        cache_write: sums.cacheWrite,
        cost_estimate_usd: sums.costUnits / COST_UNITS_PER_USD,
        duration_ms: durationMs,
        initial_prompt: initialPrompt,
      };
    },
  };
}
