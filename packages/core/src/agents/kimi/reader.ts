import { readObject, readText } from '../../records/fields.ts';
import type { JsonObject, JsonValue } from '../../rows.ts';
import type { Usage } from '../../usage/usage.ts';
import type { Reader, ReaderContext } from '../agent.ts';
import { newMessage, newUsageRecord } from '../new-records.ts';
import {
  createReaderKit,
  parseJsonText,
  readType,
  type ToolVocabulary,
  toSessionRecord,
  toUsageIfAny,
} from '../reader-kit.ts';
import type { MessageRecord, TranscriptRecord } from '../records.ts';

const TOOLS: ToolVocabulary = {
  read: ['read', 'readfile', 'readmediafile'],
  edit: ['write', 'edit', 'writefile', 'strreplacefile', 'strreplace'],
  shell: ['bash', 'shell', 'taskoutput', 'taskstop'],
  search: ['grep', 'glob', 'tasklist'],
  web: ['websearch', 'searchweb', 'fetchurl'],
  agent: ['agent', 'task', 'agentswarm'],
  skill: ['skill'],
  plan: [
    'todolist',
    'settodolist',
    'enterplanmode',
    'exitplanmode',
    'creategoal',
    'getgoal',
    'updategoal',
    'setgoalbudget',
    'think',
  ],
  question: ['askuserquestion'],
};

/** Records of either form that say nothing about messages, usage or the session. */
const BOOKKEEPING =
  /^(?:metadata|tools\.|llm\.|context\.|turn\.(?:begin|end|cancel|interrupted)|permission\.|approval\.|hook\.|plan_mode\.|session\.|mcp\.|skill\.|goal\.|task\.|cron\.|step\.|full_compaction\.|StepBegin|StepInterrupted|TurnEnd|ApprovalRequest|ApprovalResponse|ApprovalRequestResolved|CompactionEnd|MCPLoading|ToolCallPart|ToolCallRequest|HookTriggered|HookResolved|PlanDisplay|SteerInput|BtwBegin|BtwEnd|SubagentEvent|QuestionRequest|Notification)/;

interface KimiReaderState {
  model: string | null;
  /** Counts of recent steps that are already counted and that a `usage.record` will repeat. */
  stepUsages: string[];
}

const MAX_STEP_USAGES = 16;

/**
 * Reads `wire.jsonl`: records of Kimi Code (`turn.prompt`, `context.append_loop_event`, `usage.record`), and those of
 * the older Kimi CLI (`{"timestamp":…,"message":{"type":"TurnBegin","payload":{…}}}`).
 */
export function createKimiReader(
  context: ReaderContext,
  state: KimiReaderState = { model: null, stepUsages: [] },
): Reader {
  const kit = createReaderKit(context, TOOLS);

  const toAssistant = (known: Partial<MessageRecord>): TranscriptRecord[] => [
    newMessage('assistant', { model: state.model, ...known }),
  ];
  const toThinking = (thinking: JsonValue | undefined) =>
    kit.toBlocks([{ type: 'thinking', thinking: thinking ?? '' }]);
  const toContent = (value: JsonValue | undefined): JsonValue =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? null : (value ?? null);

  const readPrompt = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const isByUser = (readText(readObject(line.origin)?.kind) ?? 'user') === 'user';
    if (isByUser) return kit.toPromptRecords(line.input, base, null);
    return [newMessage('user', { ...base, metadata: { isMeta: true }, blocks: kit.toBlocks(line.input) })];
  };

  const readLoopEvent = (event: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] | undefined => {
    const responseId = kit.toId(event.stepUuid ?? event.uuid);
    switch (event.type) {
      case 'content.part': {
        const part = readObject(event.part) ?? {};
        const blocks = part.type === 'think' ? toThinking(part.think) : kit.toBlocks([part]);
        return toAssistant({ ...base, responseId, blocks });
      }
      case 'tool.call': {
        const blocks = kit.toToolUseBlocks({ id: event.toolCallId, name: event.name, input: event.args });
        return toAssistant({ ...base, responseId, blocks });
      }
      case 'tool.result': {
        const result = readObject(event.result);
        const isError = result?.isError === true;
        const content = toContent(result?.output ?? result?.message);
        return [kit.toToolResultMessage({ id: event.toolCallId, content, isError }, base)];
      }
      case 'step.end': {
        const tokens = readObject(event.usage);
        const usage = tokens && toKimiUsage((name) => kit.toCount(tokens, name));
        if (usage === undefined) return [];
        state.stepUsages.push(toSignature(usage));
        if (state.stepUsages.length > MAX_STEP_USAGES) state.stepUsages.shift();
        return toAssistant({ ...base, responseId, usage, stopReason: kit.toId(event.finishReason) ?? 'stop' });
      }
      case 'step.begin':
      case 'step.retrying':
      case 'step.interrupted':
        return [];
      default:
        return undefined;
    }
  };

  /** Repeats a step's usage, except for requests outside the loop, which are only recorded here. */
  const readUsageRecord = (line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] => {
    const tokens = readObject(line.usage);
    const usage = tokens && toKimiUsage((name) => kit.toCount(tokens, name));
    if (usage === undefined) return [];
    const repeated = state.stepUsages.indexOf(toSignature(usage));
    if (repeated !== -1) {
      state.stepUsages.splice(repeated, 1);
      return [];
    }
    const responseId = `kimi/${base.timestampMs ?? ''}/${toSignature(usage)}`;
    const model = kit.toId(line.model) ?? state.model;
    return [newUsageRecord({ usage, responseId, model, timestampMs: base.timestampMs, stopReason: 'stop' })];
  };

  const readRecord = (type: string, line: JsonObject, base: Partial<MessageRecord>): TranscriptRecord[] | undefined => {
    switch (type) {
      case 'config.update': {
        state.model = kit.toId(line.modelAlias) ?? state.model;
        return [toSessionRecord({ cwd: kit.toId(line.cwd) }) ?? []].flat();
      }
      case 'turn.prompt':
      case 'turn.steer':
        return readPrompt(line, base);
      case 'context.append_loop_event':
        return readLoopEvent(readObject(line.event) ?? {}, base);
      case 'usage.record':
        return readUsageRecord(line, base);
      case 'full_compaction.complete':
      case 'context.apply_compaction':
        return [kit.toEvent({ kind: 'compaction', name: null, details: {} }, null, base.timestampMs)];
      default:
        return BOOKKEEPING.test(type) ? [] : undefined;
    }
  };

  /** A record of Kimi CLI. */
  const readMessage = (
    type: string,
    payload: JsonObject,
    base: Partial<MessageRecord>,
  ): TranscriptRecord[] | undefined => {
    switch (type) {
      case 'TurnBegin':
        return kit.toPromptRecords(payload.user_input, base, null);
      case 'ContentPart':
        return toAssistant({
          ...base,
          blocks: payload.type === 'think' ? toThinking(payload.think) : kit.toBlocks([payload]),
        });
      case 'ToolCall': {
        const call = readObject(payload.function);
        const input = parseJsonText(readText(call?.arguments) ?? '') ?? call?.arguments;
        return toAssistant({ ...base, blocks: kit.toToolUseBlocks({ id: payload.id, name: call?.name, input }) });
      }
      case 'ToolResult': {
        const value = readObject(payload.return_value);
        const content = toContent(value?.output ?? value?.message);
        return [
          kit.toToolResultMessage({ id: payload.tool_call_id, content, isError: value?.is_error === true }, base),
        ];
      }
      case 'StatusUpdate': {
        const tokens = readObject(payload.token_usage);
        const names = {
          inputOther: 'input_other',
          output: 'output',
          inputCacheRead: 'input_cache_read',
          inputCacheCreation: 'input_cache_creation',
        };
        const usage = tokens && toKimiUsage((name) => kit.toCount(tokens, names[name]));
        if (usage === undefined) return [];
        const id = readText(payload.message_id);
        const responseId = `kimi/${id ?? `${base.timestampMs ?? ''}/${toSignature(usage)}`}`;
        return [
          newUsageRecord({ usage, responseId, model: state.model, timestampMs: base.timestampMs, stopReason: 'stop' }),
        ];
      }
      case 'CompactionBegin':
        return [kit.toEvent({ kind: 'compaction', name: null, details: {} }, null, base.timestampMs)];
      default:
        return BOOKKEEPING.test(type) ? [] : undefined;
    }
  };

  return {
    state,
    read(line) {
      const message = readObject(line.message);
      const isOld = typeof message?.type === 'string' && line.type === undefined;
      const type = readType(isOld ? message.type : line.type);
      if (type === undefined) return { type, timestampMs: undefined, records: [] };
      const timestampMs = kit.toTimeMs(line.time ?? line.timestamp ?? line.created_at);
      const base = { timestampMs };
      const records = isOld ? readMessage(type, readObject(message.payload) ?? {}, base) : readRecord(type, line, base);
      return { type, timestampMs, records: records ?? [{ kind: 'unknown', type, name: type }] };
    },
  };
}

type KimiCount = 'inputOther' | 'output' | 'inputCacheRead' | 'inputCacheCreation';

/** The classes do not overlap: `inputOther` is what was neither read from the cache nor written to it. */
function toKimiUsage(count: (name: KimiCount) => number): Usage | undefined {
  return toUsageIfAny({
    inputTokens: count('inputOther'),
    outputTokens: count('output'),
    cacheReadTokens: count('inputCacheRead'),
    cacheWriteTokens: count('inputCacheCreation'),
  });
}

function toSignature({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Usage): string {
  return [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens].join('.');
}
