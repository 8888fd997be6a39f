import type { JsonObject, JsonValue } from '../../rows.ts';
import { toUsage } from '../../usage/usage.ts';
import type { StreamSummary } from '../stream-summary.ts';
import { createTokenAccumulator, type TokenCounts } from '../token-counts.ts';
import type { LineContext } from './line-context.ts';
import { createPartialTexts, type PartialTexts } from './partial-text.ts';
import { type Prompt, toToolPrompt } from './prompts.ts';
import type { AssistantEvent, LineEvent, StreamEvent, ToolResultEvent } from './stream-event.ts';
import { createToolPairing } from './tool-pairing.ts';

/** What an assistant's event has whatever block it is. */
export type AssistantBase = Omit<AssistantEvent, 'content' | 'thinking' | 'toolUse'>;

/** What a reader remembers from line to line, and the events it has not handed over yet. */
export interface ClaudeState {
  readonly summary: Omit<StreamSummary, 'tokens'>;
  readonly partials: PartialTexts;
  give(event: StreamEvent): void;
  giveToolUse(id: string, name: string, input: JsonValue, base: AssistantBase): void;
  /** At once, or with its tool use where that is still to come. */
  giveToolResult(result: Pick<ToolResultEvent, 'toolUseId' | 'content' | 'isError'>, base: AssistantBase): void;
  /** Texts of which only pieces came, and results whose tool use never came. */
  giveWaiting(event: LineEvent): void;
  /** Once per tool use. */
  raisePrompt(prompt: Prompt | undefined, event: LineEvent): void;
  addUsage(messageId: string | null, usage: JsonObject, context: LineContext): TokenCounts;
  observeModel(model: string | null): void;
  takeEvents(): StreamEvent[];
  toSummary(): StreamSummary;
}

const SYNTHETIC_MODEL = '<synthetic>';
/** Tool uses known to have raised their prompt; the oldest are forgotten. */
const MAX_PROMPTED_TOOL_USES = 1000;

export function createClaudeState(): ClaudeState {
  const tokens = createTokenAccumulator();
  const pairing = createToolPairing();
  const partials = createPartialTexts();
  const promptedToolUses = new Set<string>();
  const summary: ClaudeState['summary'] = {
    agentSessionId: null,
    model: null,
    tokensCover: 'stream',
    reportedTokens: null,
    costUsd: null,
    lastResult: null,
    stopReason: null,
    lineCount: 0,
    warningCount: 0,
    lastActivityMs: null,
  };
  let events: StreamEvent[] = [];

  const isFirstPrompt = (toolUseId: string): boolean => {
    if (promptedToolUses.has(toolUseId)) return false;
    promptedToolUses.add(toolUseId);
    const [oldest] = promptedToolUses;
    if (promptedToolUses.size > MAX_PROMPTED_TOOL_USES && oldest !== undefined) promptedToolUses.delete(oldest);
    return true;
  };

  const state: ClaudeState = {
    summary,
    partials,
    give: (event) => events.push(event),
    giveToolUse(id, name, input, base) {
      events.push({ ...base, toolUse: { id, name, input } });
      state.raisePrompt(toToolPrompt(id === '' ? null : id, name, input), base);
      const result = id === '' ? undefined : pairing.start(id, name, base.timestampMs);
      if (result !== undefined) events.push(result);
    },
    giveToolResult(result, base) {
      const { parentToolUseId } = base;
      const event: ToolResultEvent = {
        ...toLineEvent(base),
        type: 'tool_result',
        ...result,
        toolName: null,
        durationMs: null,
        parentToolUseId,
      };
      events.push(...pairing.end(event));
    },
    giveWaiting(event) {
      for (const { parentToolUseId, messageId, text } of partials.release()) {
        events.push({ ...toAssistantBase(event, { messageId, parentToolUseId }), content: text, wasStreamed: true });
      }
      events.push(...pairing.release());
    },
    raisePrompt(prompt, event) {
      if (prompt === undefined || (prompt.toolUseId !== null && !isFirstPrompt(prompt.toolUseId))) return;
      events.push({ ...toLineEvent(event), type: 'prompt', prompt });
    },
    addUsage: (messageId, usage, { warn }) =>
      tokens.add(
        messageId,
        toUsage(usage, (field) => warn('invalid_field', 'No token count', `usage.${field}`)),
      ),
    observeModel(model) {
      if (model !== null && model !== SYNTHETIC_MODEL) summary.model ??= model;
    },
    takeEvents() {
      const taken = events;
      events = [];
      return taken;
    },
    toSummary: () => ({ ...summary, tokens: tokens.total }),
  };
  return state;
}

export function toLineEvent({ timestampMs, lineNumber, isLarge }: LineEvent): LineEvent {
  return { timestampMs, lineNumber, isLarge };
}

export function toAssistantBase(
  event: LineEvent,
  ids: { uuid?: string | null; messageId?: string | null; parentToolUseId: string | null },
): AssistantBase {
  return {
    ...toLineEvent(event),
    type: 'assistant',
    uuid: ids.uuid ?? null,
    messageId: ids.messageId ?? null,
    parentToolUseId: ids.parentToolUseId,
    isPartial: false,
    wasStreamed: false,
  };
}
