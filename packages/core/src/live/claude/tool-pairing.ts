import type { ToolResultEvent } from './stream-event.ts';

/** Brings tool uses and their results together, whichever comes first. */
export interface ToolPairing {
  /** A tool use was seen; gives its result if that came before. */
  start(id: string, name: string, timestampMs: number): ToolResultEvent | undefined;
  /** A result was seen; gives what can be told now: it, with its tool's name, or what no longer fits the bounds. */
  end(result: ToolResultEvent): ToolResultEvent[];
  /** Results that still wait for their tool use. */
  release(): ToolResultEvent[];
}

/** Tool uses remembered; the oldest fall out. */
const MAX_TOOL_USES = 10_000;
/** Results that wait, and the characters they may hold together. */
const MAX_WAITING = 100;
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024;

export function createToolPairing(): ToolPairing {
  const toolUses = new Map<string, { name: string; timestampMs: number }>();
  const waiting = new Map<string, ToolResultEvent>();
  let waitingCharacters = 0;

  const remove = (id: string): ToolResultEvent[] => {
    const result = waiting.get(id);
    if (result === undefined) return [];
    waiting.delete(id);
    waitingCharacters -= result.content.length;
    return [result];
  };

  return {
    start(id, name, timestampMs) {
      toolUses.set(id, { name, timestampMs });
      const oldest = toolUses.size > MAX_TOOL_USES ? toolUses.keys().next().value : undefined;
      if (oldest !== undefined) toolUses.delete(oldest);
      const [result] = remove(id);
      return result && { ...result, toolName: name };
    },
    end(result) {
      const toolUse = toolUses.get(result.toolUseId);
      if (toolUse !== undefined) {
        const durationMs = Math.max(0, result.timestampMs - toolUse.timestampMs);
        return [{ ...result, toolName: toolUse.name, durationMs }];
      }
      if (result.toolUseId === '') return [result];
      const released = remove(result.toolUseId);
      waiting.set(result.toolUseId, result);
      waitingCharacters += result.content.length;
      while (waiting.size > MAX_WAITING || waitingCharacters > MAX_WAITING_CHARACTERS) {
        const [oldest] = waiting.keys();
        if (oldest === undefined) break;
        released.push(...remove(oldest));
      }
      return released;
    },
    release: () => [...waiting.keys()].flatMap(remove),
  };
}
