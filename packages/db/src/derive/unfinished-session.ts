import { COST_UNITS_PER_USD, type TranscriptSummary, type UsageSums } from '@recount/core';
import { divide, ofInteger, toUsd } from './decimal.ts';
import type { DerivedFinding } from './derived-rows.ts';
import type { KeptCall } from './repeats.ts';

/** Lines of the last prompts and responses of a transcript; 0 if there is none. */
export interface LastLines {
  prompt: number;
  /** Lines of the main conversation. */
  mainPrompt: number;
  mainResponse: number;
}

interface End {
  /** In the order of their results. */
  calls: readonly KeptCall[];
  lastLines: LastLines;
  summary: TranscriptSummary;
  /** Sums of all responses that count. */
  sums: UsageSums;
}

/**
 * The last call without a result, and the last prompt without an answer, unless a response or prompt follows. As in
 * `findings/select-unfinished-sessions.ts`.
 */
export function findUnfinished({ calls, lastLines, summary, sums }: End): DerivedFinding[] {
  const { prompt_count, turn_count } = summary.stats;
  const promptLine = prompt_count > turn_count ? lastLines.mainPrompt : 0;
  const callLine = findOpenLine(calls);
  return [calls.find(({ line_number }) => line_number === callLine), undefined].flatMap((call, index) => {
    const line_number = index === 0 ? callLine : promptLine;
    const isLast = line_number >= lastLines.mainResponse && line_number >= lastLines.prompt;
    if (line_number === 0 || !isLast) return [];
    return [
      {
        kind: 'unfinished-session',
        is_subagent: false,
        timestamp: call?.timestamp ?? summary.metadata.lastTimestamp,
        message_id: call?.message_id ?? null,
        line_number,
        tool_name: call?.tool_name ?? null,
        subject: call?.file_path ?? call?.program ?? null,
        ...{ times: 1, output_bytes: 0, tokens: toTokens(sums), cost_usd: toCost(sums) },
      },
    ];
  });
}

const findOpenLine = (calls: readonly KeptCall[]): number =>
  calls.reduce((last, call) => {
    const isOpen = call.is_error === null && call.output_bytes === null && !call.is_denied && !call.is_subagent;
    return isOpen ? Math.max(last, call.line_number) : last;
  }, 0);

const toTokens = ({ tokens_in, tokens_out, cache_read, cache_write }: UsageSums): number =>
  tokens_in + tokens_out + cache_read + cache_write;

const toCost = ({ responses, unpriced_responses, cost_units }: UsageSums): number | null =>
  responses > unpriced_responses ? toUsd(divide(ofInteger(cost_units), ofInteger(COST_UNITS_PER_USD)), 1) : null;
