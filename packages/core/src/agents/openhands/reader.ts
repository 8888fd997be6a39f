import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { readObject, readObjects, readText } from '../../records/fields.ts';
import { newMessage, newUsageRecord } from '../../records/new-records.ts';
import type { TranscriptRecord } from '../../records/records.ts';
import { MAX_TOKENS_PER_SESSION, type Usage } from '../../records/usage.ts';
import type { Reader, ReaderContext, ReadLine } from '../agent.ts';
import { countUnreadableFiles, readCanonicalFile } from '../canonical-lines.ts';
import { compareTotal } from '../compare-total.ts';
import {
  createReaderKit,
  parseJsonText,
  type ToolVocabulary,
  toReportedCost,
  toSessionRecord,
  toUsageIfAny,
} from '../reader-kit.ts';
import { StatefulReader } from '../stateful-reader.ts';
import { createUnreadLines, newUnknown, reportUnknownCounts, type UnreadTypes } from '../unread-lines.ts';

const TOOLS: ToolVocabulary = {
  edit: ['file_editor', 'str_replace_editor', 'apply_patch', 'planning_file_editor', 'edit', 'write_file'],
  read: ['read_file'],
  shell: ['terminal', 'execute_bash', 'bash'],
  search: ['glob', 'grep', 'list_directory'],
  web: ['browser_navigate', 'browser_tool_set', 'browser'],
  agent: ['delegate', 'task', 'task_tool_set'],
  plan: ['task_tracker', 'think'],
  skill: ['invoke_skill'],
};

/** Events that are not read. Kinds of the SDK in August 2026. */
const UNREAD: UnreadTypes = {
  ConversationStateUpdateEvent: { why: 'repeats a part of the state', mayHold: ['value'] },
  LLMCompletionLogEvent: { why: 'a log of requests, which other events have', mayHold: ['log_data'] },
  StreamingDeltaEvent: { why: 'a piece of a message that follows', mayHold: ['content', 'reasoning_content'] },
  TokenEvent: { why: 'ids of tokens', mayHold: ['prompt_token_ids', 'response_token_ids'] },
  HookExecutionEvent: {
    why: 'says that a hook ran',
    mayHold: ['hook_command', 'stdout', 'stderr', 'reason', 'additional_context', 'error', 'hook_input.*'],
  },
  CondensationRequest: { why: 'the condensation follows' },
  PauseEvent: { why: 'says that the user paused' },
  InterruptEvent: { why: 'says that the user interrupted', mayHold: ['detail', 'reason'] },
};

/** The usage of one response; the last two say how full its context was. */
const USAGE_FIELDS: ReadonlySet<string> = new Set([
  ...['prompt_tokens', 'completion_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens'],
  ...['context_window', 'per_turn_token'],
]);

/** Part of a cost within which it equals the sum of its parts, because they are sums of fractions. */
const COST_TOLERANCE = 1e-6;

interface OpenHandsReaderState {
  sessionId: string | null;
  model: string | null;
}

/**
 * Reads conversations of OpenHands, as `packages/collect` writes them: `base_state.json` with the usage of all
 * responses, then the events.
 * https://github.com/OpenHands/software-agent-sdk openhands-sdk/openhands/sdk/{event,llm/utils/metrics.py}
 */
export function createOpenHandsReader(
  context: ReaderContext,
  state: OpenHandsReaderState = { sessionId: null, model: null },
): Reader {
  return new OpenHandsReader(context, state);
}

class OpenHandsReader extends StatefulReader<OpenHandsReaderState> {
  readonly #kit = createReaderKit(this.context, TOOLS);
  readonly #unread = createUnreadLines(UNREAD, this.context);

  read(line: JsonObject): ReadLine {
    if (line.recount === 'session') return { type: 'header', timestampMs: undefined, records: [] };
    const file = readCanonicalFile(line);
    if (file === undefined) {
      if (countUnreadableFiles(line) === 0) {
        return { type: 'file', timestampMs: undefined, records: [newUnknown('file', line)] };
      }
      this.context.report('invalid_json', 'error', 'A file of the session is not a JSON object');
      return { type: 'file', timestampMs: undefined, records: [] };
    }
    if (file.file.endsWith('base_state.json')) {
      return { type: 'state', timestampMs: undefined, records: this.#readState(file.value) };
    }
    const timestampMs = this.#kit.toTimeMs(file.value.timestamp);
    return { type: 'event', timestampMs, records: this.#readEvent(file.value, timestampMs) };
  }

  #readState(value: JsonObject): TranscriptRecord[] {
    this.state.sessionId = this.#kit.toId(value.id);
    this.state.model = toModelName(this.#kit.toId(readObject(readObject(value.agent)?.llm)?.model));
    const cwd = this.#kit.toId(readObject(value.workspace)?.working_dir);
    const session = toSessionRecord({ sessionId: this.state.sessionId, cwd });
    const metrics = this.#kit.toUsagePart(this.#kit.toUsagePart(value, 'stats'), 'usage_to_metrics');
    if (metrics === undefined) this.context.report('invalid_usage', 'warning', 'The state has no usage_to_metrics');
    const usage = Object.keys(metrics ?? {}).flatMap((name) => {
      const figures = readObject(metrics?.[name]);
      if (figures !== undefined) return this.#readMetrics(name, figures);
      this.context.report('invalid_usage', 'warning', 'Usage of a model is no plausible figure');
      return [];
    });
    return [session ?? [], usage].flat();
  }

  /** Usage of one of the conversation's models, as each response, or, in versions without a list, the sum. */
  #readMetrics(name: string, metrics: JsonObject): TranscriptRecord[] {
    const responses = this.#toEntries(metrics, 'token_usages');
    const costs = this.#toEntries(metrics, 'costs');
    // Free responses have no cost entry, so costs cannot be matched with responses.
    const isAligned = costs.length === responses.length;
    this.#compareSums(metrics, responses, costs);
    if (responses.length === 0) {
      const total = this.#kit.toUsagePart(metrics, 'accumulated_token_usage');
      const usage = this.#toOpenHandsUsage(total, MAX_TOKENS_PER_SESSION);
      if (usage === undefined) return [];
      const model = toModelName(this.#kit.toId(metrics.model_name)) ?? this.state.model;
      const responseId = `openhands/conversation-total/${this.state.sessionId ?? ''}/${name}`;
      const reportedCostUsd = toReportedCost(this.#kit.toDollars(metrics, 'accumulated_cost'));
      return [newUsageRecord({ responseId, usage, model, reportedCostUsd, stopReason: 'stop' })];
    }
    return responses.flatMap((response, index) => {
      const usage = this.#toOpenHandsUsage(response);
      if (usage === undefined) return [];
      const id = this.#kit.toId(response.response_id) || `openhands/${this.state.sessionId ?? ''}/${name}/${index}`;
      const cost = isAligned ? costs[index] : undefined;
      const known = {
        timestampMs: this.#kit.toTimeMs(cost?.timestamp),
        reportedCostUsd: toReportedCost(this.#kit.toDollars(cost, 'cost')),
        model: toModelName(this.#kit.toId(response.model)) ?? this.state.model,
      };
      return [newUsageRecord({ responseId: id, usage, ...known, stopReason: 'stop' })];
    });
  }

  #toEntries(metrics: JsonObject, field: string): JsonObject[] {
    const list = metrics[field] ?? [];
    const entries = readObjects(list);
    const isWhole = Array.isArray(list) && list.length === entries.length;
    if (!isWhole) this.context.report('invalid_usage', 'warning', `Usage field ${field} is no plausible figure`);
    return entries;
  }

  /** The state's own sums, which are stored beside the lists. */
  #compareSums(metrics: JsonObject, responses: JsonObject[], costs: JsonObject[]): void {
    const stated = readObject(metrics.accumulated_token_usage);
    const fields = ['prompt_tokens', 'completion_tokens', 'cache_read_tokens', 'cache_write_tokens'] as const;
    for (const field of stated !== undefined && responses.length > 0 ? fields : []) {
      const counted = responses.reduce((sum, response) => sum + this.#kit.toCount(response, field), 0);
      const what = `Sum of ${field} of a use of a model`;
      compareTotal(what, this.#kit.toCount(stated, field, MAX_TOKENS_PER_SESSION), counted, this.context);
    }
    const cost = this.#kit.toDollars(metrics, 'accumulated_cost');
    const sum = costs.reduce((all, each) => all + (this.#kit.toDollars(each, 'cost') ?? 0), 0);
    if (cost === null || costs.length === 0 || Math.abs(cost - sum) <= COST_TOLERANCE * cost) return;
    compareTotal(
      'Millionths of a dollar of a use of a model',
      Math.round(cost * 1e6),
      Math.round(sum * 1e6),
      this.context,
    );
  }

  /**
   * With LiteLLM, prompt tokens include the cache. Agents behind the ACP count it separately, which shows if it exceeds
   * the prompt.
   */
  #toOpenHandsUsage(tokens: JsonObject | undefined, max?: number): Usage | undefined {
    reportUnknownCounts(tokens, USAGE_FIELDS, this.context);
    const prompt = this.#kit.toCount(tokens, 'prompt_tokens', max);
    const cacheReadTokens = this.#kit.toCount(tokens, 'cache_read_tokens', max);
    const cacheWriteTokens = this.#kit.toCount(tokens, 'cache_write_tokens', max);
    const cached = cacheReadTokens + cacheWriteTokens;
    return toUsageIfAny({
      inputTokens: cached > prompt ? prompt : prompt - cached,
      outputTokens: this.#kit.toCount(tokens, 'completion_tokens', max),
      cacheReadTokens,
      cacheWriteTokens,
      thinkingTokens: this.#kit.toCount(tokens, 'reasoning_tokens', max),
    });
  }

  #readAction(event: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const call = readObject(event.tool_call);
    const text = readText(call?.arguments);
    const input = text === null ? (event.action ?? null) : (parseJsonText(text) ?? text);
    const id = event.tool_call_id ?? call?.id;
    const blocks = [
      ...this.#toThoughts(event),
      ...this.#kit.toBlocks(toParts(event.thought)),
      ...this.#kit.toToolUseBlocks({ id, name: event.tool_name ?? call?.name, input }),
    ];
    const entry = { timestampMs, uuid: this.#kit.toId(event.id), responseId: this.#kit.toId(event.llm_response_id) };
    return [newMessage('assistant', { ...entry, model: this.state.model, blocks })];
  }

  #toThoughts(source: JsonObject) {
    const blocks = readObjects(source.thinking_blocks);
    const { summary, content } = readObject(source.responses_reasoning_item) ?? {};
    const texts = [content, summary].find((list) => Array.isArray(list) && list.length > 0);
    const ofItem = Array.isArray(texts) ? texts.filter((text) => typeof text === 'string').join('\n') : '';
    const reasoning = readText(source.reasoning_content) ?? readText(ofItem);
    if (blocks.length > 0) return this.#kit.toBlocks(blocks);
    return reasoning === null ? [] : this.#kit.toBlocks([{ type: 'thinking', thinking: reasoning }]);
  }

  #readMessage(event: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const message = readObject(event.llm_message) ?? {};
    const entry = { timestampMs, uuid: this.#kit.toId(event.id) };
    const parts = toParts(message.content);
    if (event.source === 'user') {
      const added = this.#kit.toBlocks(toParts(event.extended_content));
      const meta = newMessage('user', { timestampMs, metadata: { isMeta: true }, blocks: added });
      const prompt = this.#kit.toPromptRecords(parts, entry, `openhands/prompt/${entry.uuid ?? ''}`);
      return added.length === 0 ? prompt : [...prompt, meta];
    }
    const blocks = [...this.#toThoughts(message), ...this.#kit.toBlocks(parts)];
    if (event.source !== 'agent') return [newMessage('system', { ...entry, blocks })];
    const responseId = this.#kit.toId(event.llm_response_id);
    return [newMessage('assistant', { ...entry, responseId, model: this.state.model, blocks })];
  }

  #readResult(event: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const observation = readObject(event.observation);
    const error = readText(event.error) ?? readText(event.rejection_reason);
    const exitCode = observation?.exit_code ?? readObject(observation?.metadata)?.exit_code;
    const hasFailed = typeof exitCode === 'number' && exitCode > 0;
    const shown = toParts(observation?.content ?? observation?.output);
    const content = error ?? [...shown, ...toParts(event.extended_content)];
    const isError = error !== null || observation?.is_error === true || hasFailed;
    const isDenied = event.kind === 'UserRejectObservation';
    return [this.#kit.toToolResultMessage({ id: event.tool_call_id, content, isError, isDenied }, { timestampMs })];
  }

  /** A call of an agent behind the ACP, with its result; each change of its status is a separate event. */
  #readAcpCall(event: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    if (event.status === 'pending' || event.status === 'in_progress') return [];
    const id = event.tool_call_id ?? null;
    const blocks = this.#kit.toToolUseBlocks({
      id,
      name: event.title ?? event.tool_kind,
      input: event.raw_input ?? null,
    });
    const output = event.raw_output ?? event.content ?? null;
    const content = typeof output === 'string' ? output : output === null ? null : JSON.stringify(output);
    return [
      newMessage('assistant', { timestampMs, uuid: this.#kit.toId(event.id), model: this.state.model, blocks }),
      this.#kit.toToolResultMessage({ id, content, isError: event.is_error === true }, { timestampMs }),
    ];
  }

  #readCondensation(event: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const blocks = this.#kit.toBlocks(readText(event.summary));
    return [
      this.#kit.toEvent({ kind: 'compaction', name: 'auto', details: {} }, this.#kit.toId(event.id), timestampMs),
      ...(blocks.length === 0 ? [] : [newMessage('summary', { timestampMs, blocks })]),
    ];
  }

  #readEvent(event: JsonObject, timestampMs: number | undefined): TranscriptRecord[] {
    const kind = readText(event.kind) ?? '';
    switch (kind) {
      case 'MessageEvent':
        return this.#readMessage(event, timestampMs);
      case 'ActionEvent':
        return this.#readAction(event, timestampMs);
      case 'ObservationEvent':
      case 'AgentErrorEvent':
      case 'UserRejectObservation':
        return this.#readResult(event, timestampMs);
      case 'Condensation':
      case 'CondensationSummaryEvent':
        return this.#readCondensation(event, timestampMs);
      case 'ConversationErrorEvent':
        return [
          this.#kit.toEvent(
            { kind: 'api_error', name: this.#kit.toId(event.code), details: {} },
            this.#kit.toId(event.id),
            timestampMs,
          ),
          ...this.#kit.toSystemMessages(event.detail, { timestampMs }),
        ];
      case 'SystemPromptEvent': {
        const parts = [event.system_prompt, event.dynamic_context].flatMap(
          (part) => readText(readObject(part)?.text) ?? [],
        );
        const blocks = this.#kit.toBlocks(parts);
        return blocks.length === 0 ? [] : [newMessage('system', { timestampMs, blocks })];
      }
      case 'ACPToolCallEvent':
        return this.#readAcpCall(event, timestampMs);
      default:
        return this.#unread.read(kind, event, kind === '' ? 'event' : kind);
    }
  }
}

/** Strips LiteLLM's provider prefix, which does not name a host: `litellm_proxy/…`, `openhands/…`. */
function toModelName(model: string | null): string | null {
  return model === null || model === ''
    ? null
    : model.replace(/^(?:litellm_proxy|openhands|anthropic|openai|gemini)\//, '');
}

/** Texts and images in the shape of the Anthropic API. */
function toParts(content: JsonValue | undefined): JsonValue[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return readObjects(content).flatMap((part): JsonValue[] => {
    if (part.type !== 'image') return [{ type: 'text', text: part.text ?? '' }];
    const urls = Array.isArray(part.image_urls) ? part.image_urls : [];
    return urls.map((url) => ({ type: 'image', source: { type: 'url', url: String(url).slice(0, 200) } }));
  });
}
