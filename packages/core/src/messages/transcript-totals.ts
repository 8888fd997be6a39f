import { COST_UNITS_PER_USD } from '../pricing/price-table.ts';
import type { ApiResponse, ParsedContentBlock, TranscriptMessage, TranscriptStats } from '../rows.ts';

/** Names under which Claude Code has offered its sub-agent tool. */
export const SUBAGENT_TOOLS: ReadonlySet<string> = new Set(['Task', 'Agent']);

export interface TranscriptTotals {
  addMessage(message: Pick<TranscriptMessage, 'message_type'>): void;
  addBlock(block: Pick<ParsedContentBlock, 'block_type' | 'tool_name'>): void;
  /** To be called once for each response, in its final state. */
  addResponse(response: ApiResponse): void;
  addPrompt(): void;
  /** The first line of a response in the main conversation: it answers the prompt before it. */
  addAnswer(): void;
  /** `initialPrompt` and `durationMs` are the caller's. */
  toStats(initialPrompt: string | null, durationMs: number): TranscriptStats;
}

export type TotalsState = ReturnType<typeof createTotalsState>;

export function createTotalsState() {
  return {
    counts: { messages: 0, user: 0, assistant: 0, toolUses: 0, thinking: 0, subagents: 0, prompts: 0, turns: 0 },
    sums: { tokensIn: 0, tokensOut: 0, cacheRead: 0, cacheWrite: 0, costUnits: 0 },
    responses: { all: 0, unfinalised: 0, unpriced: 0, webSearches: 0 },
    isPromptOpen: false,
  };
}

/** Running totals of a transcript. Cost is summed in whole units of 1e-10 dollars, so no order of lines changes it. */
export function createTranscriptTotals(state: TotalsState = createTotalsState()): TranscriptTotals {
  const { counts, sums, responses } = state;

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
    addResponse(response) {
      responses.all++;
      if (response.is_unfinalised) responses.unfinalised++;
      if (response.price_basis === 'unpriced') responses.unpriced++;
      responses.webSearches += response.web_search_requests;
      sums.tokensIn += response.tokens_in;
      sums.tokensOut += response.tokens_out;
      sums.cacheRead += response.cache_read;
      sums.cacheWrite += response.cache_write;
      sums.costUnits += Math.round((response.cost_usd ?? 0) * COST_UNITS_PER_USD);
    },
    addPrompt() {
      counts.prompts++;
      state.isPromptOpen = true;
    },
    addAnswer() {
      if (state.isPromptOpen) counts.turns++;
      state.isPromptOpen = false;
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
        api_response_count: responses.all,
        unfinalised_count: responses.unfinalised,
        unpriced_count: responses.unpriced,
        web_search_count: responses.webSearches,
        prompt_count: counts.prompts,
        turn_count: counts.turns,
        duration_ms: durationMs,
        initial_prompt: initialPrompt,
      };
    },
  };
}
