import type { AgentEvent, AgentExit, StreamOutcome, StreamSummary } from '@recount/core/live';
import { type EventCounts, type EventLayout, isErrorEvent, toEndLines, toEventLine } from './event-lines.ts';
import type { Screen } from './screen.ts';

/** Shows a running agent's stream. */
export interface StreamView {
  /** The bytes as they came, before their events. */
  showBytes(chunk: Uint8Array): Promise<void>;
  showEvent(event: AgentEvent): Promise<void>;
  showEnd(end: StreamEnding): Promise<void>;
}

export interface StreamEnding {
  outcome: StreamOutcome;
  /** Undefined where the agent is another program's business. */
  exit: AgentExit | undefined;
  /** Undefined where the stream is not understood. */
  summary: StreamSummary | undefined;
}

const nothing = (): Promise<void> => Promise.resolve();

/** One line an event, for people. */
export function createLineView(screen: Screen, layout: EventLayout): StreamView {
  const counts: EventCounts = { events: 0, errors: 0, warnings: 0 };
  let lastResult: { success: boolean } | undefined;
  const write = async (line: string | undefined): Promise<void> => {
    if (line !== undefined) await screen.writeLine(line);
  };
  return {
    showBytes: nothing,
    async showEvent(event) {
      if (event.type === 'warning') counts.warnings += 1;
      else counts.events += 1;
      if (isErrorEvent(event)) counts.errors += 1;
      // After more of the stream the last result is not its end.
      if (event.type === 'result') lastResult = event;
      else if (event.type === 'tool-start' || event.type === 'text') lastResult = undefined;
      await write(toEventLine(event, layout));
    },
    async showEnd({ outcome, exit }) {
      // The exit of an agent that a signal ended, or that failed after it said it was done, is news.
      const isNews = outcome.error !== null && (exit?.signal != null || lastResult?.success === true);
      const isEndShown = lastResult !== undefined && !isNews;
      if (outcome.error !== null && !isEndShown) counts.errors += 1;
      // What the agent wrote to stderr stands above.
      const shown = { ...outcome, error: outcome.error?.split(': ', 1)[0] ?? null };
      for (const line of toEndLines(exit === undefined ? outcome : shown, counts, isEndShown, layout))
        await write(line);
    },
  };
}

/** One JSON object a line, for programs: the events, and `close` in the end. */
export function createJsonView(screen: Screen): StreamView {
  return {
    showBytes: nothing,
    showEvent: (event) => screen.writeLine(toJsonLine(event)),
    showEnd: ({ outcome, exit, summary }) => screen.writeLine(toJsonLine({ type: 'close', ...outcome, exit, summary })),
  };
}

/** What the agent writes, as it is. */
export function createRawView(screen: Screen): StreamView {
  return { showBytes: screen.writeBytes, showEvent: nothing, showEnd: nothing };
}

/** Control characters that JSON lets through are escaped, too: a terminal may show it. */
function toJsonLine(value: object): string {
  return JSON.stringify(value).replace(
    /[\u007F-\u009F\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
