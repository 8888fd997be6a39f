import { hash } from 'node:crypto';
import type {
  ApiResponse,
  JsonValue,
  ParsedContentBlock,
  SessionEvent,
  ToolCall,
  TranscriptBatch,
  TranscriptSummary,
  UsageSums,
} from '@recount/core';
import { findColdCaches } from './cold-caches.ts';
import type { DerivedOrigin, DerivedRows } from './derived-rows.ts';
import { findRepeats, type NumberedCall } from './repeats.ts';
import { findUnfinished, type LastLines } from './unfinished-session.ts';

/** Everything that the findings about a transcript's calls and its end depend on, in plain objects. */
export interface FindingState {
  calls: NumberedCall[];
  /** Fingerprints of inputs by message and tool use. */
  inputs: Map<string, string>;
  /** The least fingerprint of the results of each tool use that failed, or is unknown. */
  results: Map<string, string>;
  /** Tool uses that succeeded, whose results are in no fingerprint. */
  succeeded: Set<string>;
  lastLines: LastLines;
}

const toNoState = (): FindingState => ({
  calls: [],
  inputs: new Map(),
  results: new Map(),
  succeeded: new Set(),
  lastLines: { prompt: 0, mainPrompt: 0, mainResponse: 0 },
});

/** Finds cold caches, unfinished sessions and repeats; texts are kept as fingerprints. */
export class FindingDeriver {
  readonly #key: Pick<DerivedRows['findings'][number], 'workspace_id' | 'session_id' | 'row_set_id'>;
  readonly #isSubagent: boolean;
  readonly #state: FindingState;
  #isExact = true;

  constructor({ workspaceId, sessionId, rowSetId, isSubagent }: DerivedOrigin, state: FindingState = toNoState()) {
    this.#key = { workspace_id: workspaceId, session_id: sessionId, row_set_id: rowSetId };
    this.#isSubagent = isSubagent;
    this.#state = state;
  }

  get state(): FindingState {
    return this.#state;
  }

  get callCount(): number {
    return Math.max(this.#state.calls.length, this.#state.inputs.size);
  }

  /** False if the result of a failed call was taken for another call's. */
  get isExact(): boolean {
    return this.#isExact;
  }

  add({ contentBlocks, toolCalls, events, apiResponses }: TranscriptBatch): void {
    for (const call of toolCalls) this.#addCall(call);
    for (const block of contentBlocks) this.#addBlock(block);
    for (const event of events) this.#addEvent(event);
    const { lastLines } = this.#state;
    for (const { is_subagent, line_number } of apiResponses) {
      if (!is_subagent && line_number > lastLines.mainResponse) lastLines.mainResponse = line_number;
    }
  }

  /** The findings, given the responses that count and their sums. */
  toRows(responses: Iterable<ApiResponse>, summary: TranscriptSummary, sums: UsageSums): DerivedRows['findings'] {
    const { calls, inputs, results, lastLines } = this.#state;
    const coldCaches = findColdCaches(responses);
    const unfinished = this.#isSubagent ? [] : findUnfinished({ calls, lastLines, summary, sums });
    const repeats = findRepeats(calls, {
      inputOf: ({ message_id, call_key }) => inputs.get(toInputName(message_id, toToolUseId(call_key))),
      resultOf: ({ call_key }) => results.get(toToolUseId(call_key)),
    });
    return [...coldCaches, ...unfinished, ...repeats].map((found) => ({ ...this.#key, ...found }));
  }

  #addCall(call: ToolCall): void {
    const { calls, succeeded, results } = this.#state;
    calls.push({ call, number: calls.length });
    const id = toToolUseId(call.call_key);
    const hasFailed = call.is_error === true && !call.is_denied;
    if (!hasFailed && !results.has(id)) succeeded.add(id);
    // Only short ids, which several responses may use.
    else if (hasFailed && succeeded.has(id)) this.#isExact = false;
  }

  #addBlock({
    message_id,
    tool_use_id,
    tool_kind,
    tool_input,
    tool_result_id,
    result_text,
    metadata,
  }: ParsedContentBlock) {
    const { inputs, results, succeeded } = this.#state;
    if (tool_use_id !== null && tool_kind !== null && metadata.truncated === undefined) {
      const name = toInputName(message_id, tool_use_id);
      if (!inputs.has(name)) inputs.set(name, toInputFingerprint(tool_input));
    }
    if (tool_result_id === null || result_text === null || result_text === '' || succeeded.has(tool_result_id)) return;
    const fingerprint = toFingerprint(result_text);
    const known = results.get(tool_result_id);
    if (known === undefined || fingerprint < known) results.set(tool_result_id, fingerprint);
  }

  #addEvent({ kind, is_subagent, line_number }: SessionEvent): void {
    if (kind !== 'prompt') return;
    const { lastLines } = this.#state;
    if (line_number > lastLines.prompt) lastLines.prompt = line_number;
    if (!is_subagent && line_number > lastLines.mainPrompt) lastLines.mainPrompt = line_number;
  }
}

/** The tool use's id, which the keys of calls end with. */
const toToolUseId = (callKey: string): string => callKey.slice(callKey.lastIndexOf('/') + 1);

const toInputName = (messageId: string, toolUseId: string): string => `${messageId}/${toolUseId}`;

/** The same that SQL compares, so that the least of several is the same. */
const toFingerprint = (text: string): string => hash('md5', text, 'hex');

/** Shorter texts are their own fingerprint. */
const MAX_PLAIN_LENGTH = 128;

/** Null is no JSON in Postgres, but equal to itself. */
function toInputFingerprint(input: JsonValue): string {
  if (input === null) return '';
  const text = toSortedJson(input);
  return text.length <= MAX_PLAIN_LENGTH ? text : toFingerprint(text);
}

/** The value as JSON with the fields of all objects in one order, as jsonb has them. */
function toSortedJson(value: JsonValue): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(toSortedJson).join(',')}]`;
  const names = Object.keys(value);
  if (names.length > 1) names.sort();
  let fields = '';
  for (const name of names) fields += `${JSON.stringify(name)}:${toSortedJson(value[name] ?? null)},`;
  return `{${fields}}`;
}
