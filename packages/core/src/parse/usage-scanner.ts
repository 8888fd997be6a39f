import type { PriceTable } from '../assemble/price-table.ts';
import type { Issue, IssueCode } from '../lines/issues.ts';
import type { ApiResponse } from '../records/rows.ts';
import type { ParseOptions } from './parse-options.ts';
import { TranscriptParser } from './transcript-parser.ts';

/** The facts of a scan about the transcript besides its responses. */
export interface UsageScan {
  /** The first working directory. */
  project: string | null;
  /** ISO 8601 in UTC. */
  firstTimestamp: string | null;
  lineCount: number;
  /** True if there were answers without any known usage. */
  isWithoutUsage: boolean;
  /** See `TranscriptStats`. */
  outputOnlyCount: number;
  agentVersion: string | null;
  /** Doubts about the counts (usage that is not read or not known, and stated totals that differ). */
  doubts: Pick<Issue, 'code' | 'error' | 'count'>[];
}

export interface UsageScanner {
  push(chunk: Uint8Array): void;
  /** Call it once, after the last chunk. */
  finish(): UsageScan;
}

export interface UsageScannerOptions {
  /** Id of a format that can be read. */
  format: string;
  /** As in `ParseOptions`. */
  isSubagent?: boolean;
  /** Longer lines are read with their long texts cut. Default 5 MiB. */
  maxLineBytes?: number;
  onResponse(response: ApiResponse): void;
}

const DOUBTS = new Set<IssueCode>(['unread_content', 'unknown_usage', 'total_mismatch']);

/** Costs are computed by the caller, once it is settled which copies of a response count. */
const NO_PRICES: PriceTable = {
  version: 'none',
  price: () => ({ costUsd: null, costs: null, basis: 'unpriced' }),
};

/**
 * Finds a transcript's API responses, unpriced, with the same readers and rules as a full parse, but skips lines that
 * cannot affect usage according to the format. Several times as fast. Synchronous, in bounded memory.
 *
 * One difference is that searches reported in a tool's result are missed if the result precedes its call.
 */
export function createUsageScanner(sessionId: string, options: UsageScannerOptions): UsageScanner {
  const { format, isSubagent, maxLineBytes, onResponse } = options;
  const parseOptions: ParseOptions = {
    format,
    isSubagent,
    maxLineBytes,
    longLines: 'cut',
    isUsageOnly: true,
    prices: NO_PRICES,
  };
  const doubts: UsageScan['doubts'] = [];
  const parser = new TranscriptParser(sessionId, parseOptions, {
    addMessage: ignore,
    addBlock: ignore,
    addToolCall: ignore,
    addEvent: ignore,
    addIssue(issue) {
      const { code, error, count } = issue;
      if (DOUBTS.has(code)) doubts.push({ code, error, count });
    },
    addApiResponse: onResponse,
  });
  return {
    push: (chunk) => parser.push(chunk),
    finish() {
      parser.finish();
      while (parser.closeOldest());
      const { metadata, stats } = parser.toSummary();
      const { cwd, firstTimestamp, lineCount, version: agentVersion } = metadata;
      const { tokens_in: tokensIn, output_only_count: outputOnlyCount } = stats;
      return {
        project: cwd,
        firstTimestamp,
        lineCount,
        isWithoutUsage: tokensIn === null,
        outputOnlyCount,
        agentVersion,
        doubts,
      };
    },
  };
}

function ignore(): void {}
