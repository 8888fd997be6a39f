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
export class TranscriptTotals {
  readonly #state: TotalsState;
  readonly #counts: TotalsState['counts'];
  readonly #sums: TotalsState['sums'];
  readonly #responses: TotalsState['responses'];

  constructor(state: TotalsState = createTotalsState()) {
    this.#state = state;
    this.#counts = state.counts;
    this.#sums = state.sums;
    this.#responses = state.responses;
  }

  addMessage(message: Pick<TranscriptMessage, 'message_type'>): void {
    this.#counts.messages++;
    if (message.message_type === 'user') this.#counts.user++;
    if (message.message_type === 'assistant') this.#counts.assistant++;
  }

  /** `toolKind` is the kind of the tool that the block calls, if it calls one. */
  addBlock(block: Pick<ParsedContentBlock, 'block_type'>, toolKind?: ToolKind): void {
    if (block.block_type === 'tool_use') {
      this.#counts.toolUses++;
      if (toolKind === 'agent') this.#counts.subagents++;
    }
    if (block.block_type === 'thinking' || block.block_type === 'redacted_thinking') this.#counts.thinking++;
  }

  /** Call it once for each response, in its final state. */
  addResponse(response: ApiResponse): void {
    this.#responses.all++;
    if (response.is_unfinalised) this.#responses.unfinalised++;
    if (response.price_basis === 'unpriced') this.#responses.unpriced++;
    this.#responses.webSearches += response.web_search_requests;
    this.#sums.tokensIn += response.tokens_in;
    this.#sums.tokensOut += response.tokens_out;
    this.#sums.cacheRead += response.cache_read;
    this.#sums.cacheWrite += response.cache_write;
    this.#state.costUnits += BigInt(Math.round((response.cost_usd ?? 0) * COST_UNITS_PER_USD));
  }

  /** Counts an assistant message without usage. Its tokens are unknown. */
  addUnmetered(): void {
    this.#responses.unmetered++;
  }

  addPrompt(): void {
    this.#counts.prompts++;
    this.#state.isPromptOpen = true;
  }

  /** Counts the first line of a response in the main conversation, which answers the prompt before it. */
  addAnswer(): void {
    if (this.#state.isPromptOpen) this.#counts.turns++;
    this.#state.isPromptOpen = false;
  }

  /** Names of totals that exceed their bounds. The cost is then null, and the searches stay at the bound. */
  listImplausible(): string[] {
    return [
      ...(this.#state.costUnits > MAX_COST_UNITS ? ['cost_estimate_usd'] : []),
      ...(this.#responses.webSearches > MAX_WEB_SEARCHES ? ['web_search_count'] : []),
    ];
  }

  /** The caller supplies `initialPrompt`, `durationMs` and `outputOnlyCount`. */
  toStats(initialPrompt: string | null, durationMs: number, outputOnlyCount = 0): TranscriptStats {
    const exactCost = this.toExactCost();
    return {
      total_messages: this.#counts.messages,
      user_messages: this.#counts.user,
      assistant_messages: this.#counts.assistant,
      tool_use_count: this.#counts.toolUses,
      thinking_blocks: this.#counts.thinking,
      subagent_count: this.#counts.subagents,
      tokens_in: this.#toKnown(this.#sums.tokensIn),
      tokens_out: this.#toKnown(this.#sums.tokensOut),
      cache_read: this.#toKnown(this.#sums.cacheRead),
      cache_write: this.#toKnown(this.#sums.cacheWrite),
      cost_estimate_usd: exactCost === null ? null : Number(exactCost),
      api_response_count: this.#responses.all,
      output_only_count: outputOnlyCount,
      unfinalised_count: this.#responses.unfinalised,
      unpriced_count: this.#responses.unpriced,
      web_search_count: Math.min(this.#responses.webSearches, MAX_WEB_SEARCHES),
      prompt_count: this.#counts.prompts,
      turn_count: this.#counts.turns,
      duration_ms: durationMs,
      initial_prompt: initialPrompt,
    };
  }

  #isUnknown(): boolean {
    return this.#responses.all === 0 && this.#responses.unmetered > 0;
  }

  #toKnown(sum: number): number | null {
    return this.#isUnknown() ? null : sum;
  }

  /**
   * US dollars of the responses that have a price, as an exact decimal. 0 if there are no responses; null if no
   * response has a price, there is no usage, or the sum is implausible.
   */
  toExactCost(): string | null {
    const isUnpriced = this.#responses.all > 0 && this.#responses.unpriced === this.#responses.all;
    if (isUnpriced || this.#isUnknown() || this.#state.costUnits > MAX_COST_UNITS) return null;
    const digits = String(this.#state.costUnits).padStart(COST_DECIMALS + 1, '0');
    return `${digits.slice(0, -COST_DECIMALS)}.${digits.slice(-COST_DECIMALS)}`;
  }
}
