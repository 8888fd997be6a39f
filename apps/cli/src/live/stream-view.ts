import type { AgentEvent, CloseEvent, LiveEvent } from '@recount/core/live';
import {
  type EventCounts,
  type EventLayout,
  isErrorEvent,
  isPlainText,
  toEndLines,
  toEventLine,
  toUnreadableLine,
} from './event-lines.ts';
import type { Screen } from './screen.ts';

/** Shows a running agent's stream. */
export interface StreamView {
  /** The raw bytes, before their events. */
  showBytes(chunk: Uint8Array): Promise<void>;
  showEvent(event: LiveEvent): Promise<void>;
}

const nothing = (): Promise<void> => Promise.resolve();

/** One line for each event, for people. */
export function createLineView(screen: Screen, layout: EventLayout): StreamView {
  const counts: EventCounts = { events: 0, errors: 0, warnings: 0, unreadableLines: 0 };
  let lastResult: { success: boolean } | undefined;
  const write = async (line: string | undefined): Promise<void> => {
    if (line !== undefined) await screen.writeLine(line);
  };
  const toLine = (event: AgentEvent): string | undefined => {
    if (event.type !== 'warning' || event.warning.quote === undefined) return toEventLine(event, layout);
    if (!isPlainText(event.warning.quote)) counts.unreadableLines += 1;
    return toUnreadableLine(event.warning, counts.unreadableLines === 1, layout);
  };
  const showEnd = async ({ error, exit }: CloseEvent): Promise<void> => {
    // The exit is worth showing if a signal ended the agent, or if it failed after it said it was done.
    const isNews = error !== null && (exit?.signal != null || lastResult?.success === true);
    const isEndShown = lastResult !== undefined && !isNews;
    if (error !== null && !isEndShown) counts.errors += 1;
    // The agent's stderr is shown above.
    const shown = exit === undefined ? error : (error?.split(': ', 1)[0] ?? null);
    for (const line of toEndLines(shown, counts, isEndShown, layout)) await write(line);
  };
  return {
    showBytes: nothing,
    async showEvent(event) {
      if (event.type === 'close') return await showEnd(event);
      if (event.type === 'warning') counts.warnings += 1;
      else counts.events += 1;
      if (isErrorEvent(event)) counts.errors += 1;
      // If more follows, the last result is not the stream's end.
      if (event.type === 'result') lastResult = event;
      else if (event.type === 'tool-start' || event.type === 'text') lastResult = undefined;
      await write(toLine(event));
    },
  };
}

/** One JSON object on each line, for programs. */
export function createJsonView(screen: Screen): StreamView {
  return {
    showBytes: nothing,
    showEvent: (event) => screen.writeLine(JSON.stringify(event)),
  };
}

/** The agent's output, unchanged if it does not go to a terminal. */
export function createRawView(screen: Screen): StreamView {
  return { showBytes: screen.writeBytes, showEvent: nothing };
}
