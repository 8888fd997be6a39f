import type { LineEvent, ToolEndEvent } from './live-event.ts';

/** Matches tool uses with their results, whichever comes first. */
interface ToolPairing {
  /** Takes in a tool use; returns its result if that came before. */
  start(id: string, name: string, line: LineEvent): ToolEndEvent | undefined;
  /**
   * Takes in a result; returns the results that are due. They are this one after its tool use, and any that exceed the
   * bounds.
   */
  end(result: ToolEndEvent, moment: Moment): ToolEndEvent[];
  /** Results that have waited as long as they may. */
  takeOverdue(moment: Moment): ToolEndEvent[];
  /** Results still waiting for their tool use. */
  release(): ToolEndEvent[];
}

/** Used to measure how long a result has waited. */
interface Moment {
  /** Events of the stream so far. */
  eventCount: number;
  /** Milliseconds since 1970. */
  timeMs: number;
}

/** A result is emitted without its tool use after this many events, or this time, whichever comes first. */
const MAX_WAIT_EVENTS = 64;
export const MAX_WAIT_MS = 2000;
/** Tool uses remembered; the oldest are dropped. */
const MAX_TOOL_USES = 10_000;
/** Results that may wait, and the characters that they may hold together. */
const MAX_WAITING = 100;
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024;

export function createToolPairing(): ToolPairing {
  const toolUses = new Map<string, { name: string; timestampMs: number; lineNumber: number }>();
  const waiting = new Map<string, { result: ToolEndEvent; since: Moment }>();
  let waitingCharacters = 0;

  const take = (id: string): ToolEndEvent | undefined => {
    const result = waiting.get(id)?.result;
    waiting.delete(id);
    waitingCharacters -= result?.toolOutput.length ?? 0;
    return result;
  };
  const release = (id: string): ToolEndEvent[] => {
    const result = take(id);
    return result === undefined ? [] : [{ ...result, isUnpaired: true }];
  };

  return {
    start(id, name, { timestampMs, lineNumber }) {
      toolUses.set(id, { name, timestampMs, lineNumber });
      const oldest = toolUses.size > MAX_TOOL_USES ? toolUses.keys().next().value : undefined;
      if (oldest !== undefined) toolUses.delete(oldest);
      const result = take(id);
      return result && { ...result, toolName: name };
    },
    end(result, moment) {
      const toolUse = toolUses.get(result.toolId);
      if (toolUse !== undefined) {
        // If both are on one line, the time between them is unknown.
        const isSameLine = result.lineNumber === toolUse.lineNumber;
        const durationMs = isSameLine ? null : Math.max(0, result.timestampMs - toolUse.timestampMs);
        return [{ ...result, toolName: toolUse.name, durationMs }];
      }
      if (result.toolId === '') return [{ ...result, isUnpaired: true }];
      const released = release(result.toolId);
      waiting.set(result.toolId, { result, since: moment });
      waitingCharacters += result.toolOutput.length;
      while (waiting.size > MAX_WAITING || waitingCharacters > MAX_WAITING_CHARACTERS) {
        const [oldest] = waiting.keys();
        if (oldest === undefined) break;
        released.push(...release(oldest));
      }
      return released;
    },
    takeOverdue({ eventCount, timeMs }) {
      const overdue: ToolEndEvent[] = [];
      // In insertion order. The first has waited longest.
      for (const [id, { since }] of waiting) {
        if (eventCount - since.eventCount < MAX_WAIT_EVENTS && timeMs - since.timeMs < MAX_WAIT_MS) break;
        overdue.push(...release(id));
      }
      return overdue;
    },
    release: () => [...waiting.keys()].flatMap(release),
  };
}
