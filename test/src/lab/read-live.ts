import type { TokenSums } from '@recount/core';
import { type AgentEvent, parserFor } from '@recount/core/live';
import type { Tokens } from './server/exchange.ts';

/** The output of the live view of a stream. */
export interface LiveView {
  tokens: Pick<Tokens, 'input' | 'cacheRead' | 'cacheWrite' | 'output'>;
  /** The tokens are of the whole session, not of this start of the program alone. */
  coversSession: boolean;
  texts: string[];
  callIds: string[];
  warnings: string[];
}

/** Reads what a program printed as `recount run` and `recount tail` do. */
export function readLive(agent: string, stdout: string): LiveView {
  const parser = parserFor(agent, { now: Date.now });
  if (parser === undefined) throw new Error(`recount knows no stream of ${agent}`);
  const events: AgentEvent[] = [...parser.push(Buffer.from(stdout)), ...parser.finish()];
  const { tokens, reportedTokens, tokensCover } = parser.toSummary();
  return {
    // Lines of Claude Code hold only placeholders of the output: its own total is then the figure.
    tokens: toTokens(reportedTokens ?? tokens),
    coversSession: tokensCover === 'session',
    texts: events.flatMap((event) => (event.type === 'text' ? [event.text] : [])),
    callIds: events.flatMap((event) => (event.type === 'tool-start' ? [event.toolId] : [])),
    warnings: events.flatMap((event) => (event.type === 'warning' ? [event.warning.code] : [])),
  };
}

const toTokens = ({ tokens_in, tokens_out, cache_read, cache_write }: TokenSums): LiveView['tokens'] => ({
  input: tokens_in,
  output: tokens_out,
  cacheRead: cache_read,
  cacheWrite: cache_write,
});
