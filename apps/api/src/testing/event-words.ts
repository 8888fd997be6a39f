import type { FollowedEvent } from '@recount/contract';
import { type LiveEvent, parserFor } from '@recount/core/live';

/** An event without what depends on when and how it was delivered. */
export function withoutTimes(event: LiveEvent | FollowedEvent): object {
  const { timestampMs: _time, ...rest } = event;
  if ('durationMs' in rest) rest.durationMs = null;
  if ('session_id' in rest) {
    const { session_id: _session, stream_id: _stream, ...told } = rest;
    return told;
  }
  return rest;
}

/** The events that the library parses from a whole stream. */
export function parseEvents(command: string, output: string): object[] {
  const parser = parserFor(command, { now: () => 0 });
  if (parser === undefined) throw new Error(`No parser for ${command}`);
  return [...parser.push(output), ...parser.finish()].map(withoutTimes);
}
