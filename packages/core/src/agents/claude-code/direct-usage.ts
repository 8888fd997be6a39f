import { limitJson, limitText } from '../../lines/inline-limit.ts';
import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { isJsonObject, isUniqueId, MAX_IDENTIFIER_LENGTH, MAX_TYPE_LENGTH, readDollars } from '../../records/fields.ts';
import { parseTimestampMs } from '../../records/timestamps.ts';
import type { Usage } from '../../records/usage.ts';
import type { AnswerLine, DirectReader, DirectSink } from '../agent.ts';
import { toWithheldBytes } from '../anthropic-api/content-blocks.ts';
import { listUnknownCounts, toUsage } from '../anthropic-api/usage.ts';
import { createUnreadLines, type UnreadLines } from '../unread-lines.ts';
import { SYNTHETIC_MODEL, toTypeName } from './reader.ts';
import { countsSearches, toSearchCount } from './tools.ts';
import { ENVELOPE, UNREAD_TYPES } from './unread-types.ts';

/** More blocks of a message are left to the reader. */
const MAX_BLOCKS = 1000;

type Written = AnswerLine['written'][number];

/**
 * Reads what session files of Claude Code ordinarily hold: answers, prompts and results, progress of sub-agents, and
 * bookkeeping. Refuses streams, totals, requests that are billed apart, and what looks odd.
 */
export function createDirectReader(maxInlineContentBytes: number): DirectReader {
  return new ClaudeCodeDirectReader(maxInlineContentBytes);
}

class ClaudeCodeDirectReader implements DirectReader {
  readonly #maxContentBytes: number;
  readonly #unread: UnreadLines;
  #hasDoubt = false;

  constructor(maxInlineContentBytes: number) {
    this.#maxContentBytes = maxInlineContentBytes;
    const report = (): void => {
      this.#hasDoubt = true;
    };
    this.#unread = createUnreadLines(UNREAD_TYPES, { report, isUsageOnly: true }, ENVELOPE);
  }

  read(line: JsonObject, sink: DirectSink): boolean {
    const { type } = line;
    if (typeof type !== 'string' || type === '') return true;
    if (line.sessionId === undefined && line.session_id !== undefined) return false;
    const timestampMs = parseTimestampMs(line.timestamp ?? line.timestamp_ms);
    sink.addLine(timestampMs);
    sink.addSessionFacts(line.cwd, line.version);
    switch (type) {
      case 'assistant':
        return this.#readAnswer(line, line, undefined, timestampMs, sink);
      case 'user':
      case 'system':
      case 'summary':
        return readMessage(line, sink);
      case 'progress':
        return this.#readUnread(type, line) && this.#readProgress(line, timestampMs, sink);
      // Flat streams, and totals.
      case 'message':
      case 'tool_use':
      case 'tool_result':
      case 'result':
      case 'cost-state':
        return false;
      default:
        return type.length <= MAX_TYPE_LENGTH && this.#readUnread(type, line);
    }
  }

  #readUnread(type: string, line: JsonObject): boolean {
    return this.#unread.read(type, line, toTypeName(line)).length === 0 && !this.#hasDoubt;
  }

  #readProgress(line: JsonObject, lineMs: number | undefined, sink: DirectSink): boolean {
    const { data } = line;
    if (!isJsonObject(data) || data.type !== 'agent_progress') return true;
    const envelope = data.message;
    if (!isJsonObject(envelope) || envelope.type !== 'assistant' || !isJsonObject(envelope.message)) return true;
    if ((envelope.message.usage ?? null) === null) return true;
    return this.#readAnswer(envelope, line, data, parseTimestampMs(envelope.timestamp) ?? lineMs, sink);
  }

  /** `data` is set for an answer in a progress line, whose envelope is then the line in it. */
  #readAnswer(
    envelope: JsonObject,
    line: JsonObject,
    data: JsonObject | undefined,
    timestampMs: number | undefined,
    sink: DirectSink,
  ): boolean {
    const { message } = envelope;
    if (!isJsonObject(message) || (message.pausedResponses ?? null) !== null) return false;
    const { id, content, usage: source } = message;
    const isMetered = (source ?? null) !== null;
    if (!isMetered && isNothing(id))
      return typeof content === 'string' || this.#readContent(content, undefined, []) ? sink.addUnmetered() : false;
    if (typeof id !== 'string' || !isUniqueId(id) || id.length > MAX_IDENTIFIER_LENGTH) return false;
    const usage = isJsonObject(source) ? readUsage(source) : undefined;
    const model = toName(message.model);
    const stopReason = toName(message.stop_reason);
    const gitBranch = toName(line.gitBranch);
    if (isMetered && usage === undefined) return false;
    if (model === undefined || stopReason === undefined || gitBranch === undefined) return false;
    const written: Written[] = [];
    const searchCallIds: string[] = [];
    if (!this.#readContent(content, stopReason === null ? written : undefined, searchCallIds)) return false;
    return sink.addAnswer({
      responseId: id,
      source: data === undefined ? 'message' : 'progress',
      timestampMs,
      model,
      isSynthetic: model === SYNTHETIC_MODEL,
      stopReason,
      usage,
      reportedCostUsd: envelope.costUSD === undefined ? null : readDollars(envelope.costUSD, () => undefined),
      gitBranch,
      isMarkedCopy: isJsonObject(line.forkedFrom),
      isSubagent: data !== undefined || line.isSidechain === true || !isNothing(line.agentId),
      written,
      searchCallIds: data === undefined ? searchCallIds : [],
    });
  }

  #readContent(content: JsonValue | undefined, written: Written[] | undefined, searchCallIds: string[]): boolean {
    if (!Array.isArray(content) || content.length > MAX_BLOCKS) return false;
    for (const block of content) {
      if (!isJsonObject(block)) return false;
      const { type, id } = block;
      if (type === 'tool_use') {
        const isNamed = typeof id === 'string' && isUniqueId(id) && id.length <= MAX_IDENTIFIER_LENGTH;
        if (typeof block.name !== 'string') return false;
        const isSearch = countsSearches(block.name);
        if (!isNamed) {
          // It can be left out, unless its size or its result counts.
          if (isSearch || written !== undefined) return false;
          continue;
        }
        if (isSearch) searchCallIds.push(id);
        if (written !== undefined) written.push({ name: id, byteLength: this.#measureInput(block.input ?? undefined) });
        continue;
      }
      if (type !== 'text' && type !== 'thinking') return false;
      if (written === undefined) continue;
      const text = block[type];
      if (typeof text !== 'string') return false;
      const isWithheld = text === '' && type === 'thinking' && typeof block.signature === 'string';
      const byteLength = isWithheld
        ? toWithheldBytes(block.signature as string)
        : limitText(text, this.#maxContentBytes).byteLength;
      written.push({ name: type, byteLength });
    }
    return true;
  }

  #measureInput(input: JsonValue | undefined): number {
    if (typeof input === 'string') return limitText(input, this.#maxContentBytes).byteLength;
    return isJsonObject(input) || Array.isArray(input) ? limitJson(input, this.#maxContentBytes).byteLength : 0;
  }
}

/** A name as it is, null for none; undefined for one that only the reader's rules tell. */
function toName(value: JsonValue | undefined): string | null | undefined {
  if (typeof value === 'string') return value === '' ? null : value.length <= MAX_IDENTIFIER_LENGTH ? value : undefined;
  return value === undefined || value === null ? null : undefined;
}

const isNothing = (value: JsonValue | undefined): boolean =>
  value === undefined || value === '' || typeof value === 'object' || typeof value === 'boolean';

/** Undefined if there are counts that no rule reads, or requests apart. */
function readUsage(source: JsonObject): Usage | undefined {
  const { iterations } = source;
  const isSingle = Array.isArray(iterations) ? iterations.length <= 1 : (iterations ?? null) === null;
  if (!isSingle || listUnknownCounts(source).length > 0) return undefined;
  const usage = toUsage(source, () => undefined);
  const [iteration] = Array.isArray(iterations) ? iterations : [];
  return iteration === undefined || isAnswer(iteration, source) ? usage : undefined;
}

const COUNTS = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

/** True if the only request of a response is what its figures state. */
const isAnswer = (iteration: JsonValue, source: JsonObject): boolean =>
  isJsonObject(iteration) &&
  iteration.type === 'message' &&
  COUNTS.every((field) => typeof source[field] === 'number' && iteration[field] === source[field]);

/** A message that is no answer; only the results of calls that count searches matter in it. */
function readMessage(line: JsonObject, sink: DirectSink): boolean {
  const content = line.type === 'user' && isJsonObject(line.message) ? line.message.content : undefined;
  if (!Array.isArray(content)) {
    const texts = content === undefined ? [line.message, line.content] : [content];
    return texts.every((text) => typeof text !== 'object' || text === null) && sink.addMessage([]);
  }
  if (content.length > MAX_BLOCKS) return false;
  const ids: string[] = [];
  for (const block of content) {
    const type = isJsonObject(block) ? block.type : undefined;
    if (!isJsonObject(block) || typeof type !== 'string' || !type.endsWith('tool_result')) continue;
    const id = block.tool_use_id;
    if (type !== 'tool_result' || typeof id !== 'string' || id === '' || id.length > MAX_IDENTIFIER_LENGTH)
      return false;
    ids.push(id);
  }
  const searchCount = ids.length === 1 ? toSearchCount(line.toolUseResult) : 0;
  return sink.addMessage(ids.map((callId) => ({ callId, searchCount })));
}
