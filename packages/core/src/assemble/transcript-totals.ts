import {
  type ApiResponse,
  COST_UNITS_PER_USD,
  type ParsedContentBlock,
  type ToolKind,
  type TranscriptMessage,
  type TranscriptStats,
} from '../records/rows.ts';

/** Decimal places of one of COST_UNITS_PER_USD, in dollars. */
const COST_DECIMALS = 10;
/**
 * No session costs nearly this much, in any currency, and larger sums would not fit the database column. In units of
 * 1e-10 dollars.
 */
const MAX_COST_UNITS = 10n ** 20n - 1n;
/** Fits into 32 bits; no session makes nearly as many. */
const MAX_WEB_SEARCHES = 2 ** 31 - 1;

export interface TranscriptTotals {
  addMessage(message: Pick<TranscriptMessage, 'message_type'>): void;
  /** `toolKind`: the kind of the tool that the block calls, if it calls one. */
  addBlock(block: Pick<ParsedContentBlock, 'block_type'>, toolKind?: ToolKind): void;
  /** To be called once for each response, in its final state. */
  addResponse(response: ApiResponse): void;
  /** Counts an assistant message without usage: its tokens are unknown. */
  addUnmetered(): void;
  addPrompt(): void;
  /** Counts the first line of a response in the main conversation, which answers the prompt before it. */
  addAnswer(): void;
  /** Names of totals that exceed their bounds: the cost is then null, and the searches stay at the bound. */
  listImplausible(): string[];
  /**
   * US dollars of the responses that have a price, as an exact decimal. 0 if there are no responses; null if none of
   * them has a price, no usage is known, or the sum is implausible.
   */
  toExactCost(): string | null;
  /** The caller supplies `initialPrompt`, `durationMs` and `outputOnlyCount`. */
  toStats(initialPrompt: string | null, durationMs: number, outputOnlyCount?: number): TranscriptStats;
}

export type TotalsState = ReturnType<typeof createTotalsState>;

export function createTotalsState() {
  return {
    counts: { messages: 0, user: 0, assistant: 0, toolUses: 0, thinking: 0, subagents: 0, prompts: 0, turns: 0 },
    sums: { tokensIn: 0, tokensOut: 0, cacheRead: 0, cacheWrite: 0 },
    costUnits: 0n,
    responses: { all: 0, unmetered: 0, unfinalised: 0, unpriced: 0, webSearches: 0 },
    isPromptOpen: false,
  };
}

/**
 * Running totals of a transcript. Cost is summed exactly, in whole units of 1e-10 dollars, so the order of lines does
 * not matter.
 */
export function createTranscriptTotals(state: TotalsState = createTotalsState()): TranscriptTotals {
  const { counts, sums, responses } = state;
  const isUnknown = (): boolean => responses.all === 0 && responses.unmetered > 0;
  const toKnown = (sum: number): number | null => (isUnknown() ? null : sum);
  const toExactCost = (): string | null => {
    const isUnpriced = responses.all > 0 && responses.unpriced === responses.all;
    if (isUnpriced || isUnknown() || state.costUnits > MAX_COST_UNITS) return null;
    const digits = String(state.costUnits).padStart(COST_DECIMALS + 1, '0');
    return `${digits.slice(0, -COST_DECIMALS)}.${digits.slice(-COST_DECIMALS)}`;
  };

  return {
    addMessage(message) {
      counts.messages++;
      if (message.message_type === 'user') counts.user++;
      if (message.message_type === 'assistant') counts.assistant++;
    },
    addBlock(block, toolKind) {
      if (block.block_type === 'tool_use') {
        counts.toolUses++;
        if (toolKind === 'agent') counts.subagents++;
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
      state.costUnits += BigInt(Math.round((response.cost_usd ?? 0) * COST_UNITS_PER_USD));
    },
    addUnmetered() {
      responses.unmetered++;
    },
    addPrompt() {
      counts.prompts++;
      state.isPromptOpen = true;
    },
    addAnswer() {
      if (state.isPromptOpen) counts.turns++;
      state.isPromptOpen = false;
    },
    listImplausible: () => [
      ...(state.costUnits > MAX_COST_UNITS ? ['cost_estimate_usd'] : []),
      ...(responses.webSearches > MAX_WEB_SEARCHES ? ['web_search_count'] : []),
    ],
    toExactCost,
    toStats(initialPrompt, durationMs, outputOnlyCount = 0) {
      const exactCost = toExactCost();
      return {
        total_messages: counts.messages,
        user_messages: counts.user,
        assistant_messages: counts.assistant,
        tool_use_count: counts.toolUses,
        thinking_blocks: counts.thinking,
        subagent_count: counts.subagents,
        tokens_in: toKnown(sums.tokensIn),
        tokens_out: toKnown(sums.tokensOut),
        cache_read: toKnown(sums.cacheRead),
        cache_write: toKnown(sums.cacheWrite),
        cost_estimate_usd: exactCost === null ? null : Number(exactCost),
        api_response_count: responses.all,
        output_only_count: outputOnlyCount,
        unfinalised_count: responses.unfinalised,
        unpriced_count: responses.unpriced,
        web_search_count: Math.min(responses.webSearches, MAX_WEB_SEARCHES),
        prompt_count: counts.prompts,
        turn_count: counts.turns,
        duration_ms: durationMs,
        initial_prompt: initialPrompt,
      };
    },
  };
}
