import { hash } from 'node:crypto';
import type {
  JsonValue,
  ParsedContentBlock,
  SessionEvent,
  TranscriptBatch,
  TranscriptSummary,
  UsageSums,
} from '@recount/core';
import type { DerivedFinding, DerivedOrigin } from './derived-rows.ts';
import { findRepeats, type KeptCall, ofCallFields, toCallFields } from './repeats.ts';
import { findUnfinished, type LastLines } from './unfinished-session.ts';

/** Everything that the findings about a transcript's calls and its end depend on. */
interface FindingFacts {
  /** In the order of their results. */
  calls: KeptCall[];
  /** Fingerprints of inputs by message and tool use. */
  inputs: Map<string, string>;
  /** The least fingerprint of the results of each tool use that failed, or is unknown. */
  results: Map<string, string>;
  lastLines: LastLines;
}

/** The same in plain lists, maps and objects. */
export interface FindingState extends Omit<FindingFacts, 'calls'> {
  calls: unknown[][];
}

const NO_STATE: Readonly<FindingState> = {
  calls: [],
  inputs: new Map(),
  results: new Map(),
  lastLines: { prompt: 0, mainPrompt: 0, mainResponse: 0 },
};

/** Finds unfinished sessions and repeats; texts are kept as fingerprints. */
export class FindingDeriver {
  readonly #isSubagent: boolean;
  readonly #facts: FindingFacts;
  /** Tool uses that succeeded, whose results are in no fingerprint. */
  readonly #succeeded = new Set<string>();
  readonly #failed = new Set<string>();
  #isExact = true;

  constructor({ isSubagent }: DerivedOrigin, { calls, inputs, results, lastLines }: FindingState = NO_STATE) {
    this.#isSubagent = isSubagent;
    this.#facts = { calls: [], inputs: new Map(inputs), results: new Map(results), lastLines: { ...lastLines } };
    for (const fields of calls) this.#addCall(ofCallFields(fields));
  }

  /** To be written before anything else is added. */
  toState(): FindingState {
    return { ...this.#facts, calls: this.#facts.calls.map(toCallFields) };
  }

  get callCount(): number {
    return Math.max(this.#facts.calls.length, this.#facts.inputs.size);
  }

  /** False if the result of a failed call was taken for another call's. */
  get isExact(): boolean {
    return this.#isExact;
  }

  /** True if a call came twice, so that only one of them counts. */
  hasCopies(): boolean {
    const { calls } = this.#facts;
    return new Set(calls.map(({ call_key }) => call_key)).size < calls.length;
  }

  add({ contentBlocks, toolCalls, events, apiResponses }: TranscriptBatch): void {
    for (const call of toolCalls) this.#addCall(call);
    for (const block of contentBlocks) this.#addBlock(block);
    for (const event of events) this.#addEvent(event);
    const { lastLines } = this.#facts;
    for (const { is_subagent, line_number } of apiResponses) {
      if (!is_subagent && line_number > lastLines.mainResponse) lastLines.mainResponse = line_number;
    }
  }

  /** The findings, given the sums of the responses that count. */
  toFindings(summary: TranscriptSummary, sums: UsageSums): DerivedFinding[] {
    const { calls, inputs, results, lastLines } = this.#facts;
    const unfinished = this.#isSubagent ? [] : findUnfinished({ calls, lastLines, summary, sums });
    const repeats = findRepeats(calls, {
      inputOf: ({ message_id, call_key }) => inputs.get(toInputName(message_id, toToolUseId(call_key))),
      resultOf: ({ call_key }) => results.get(toToolUseId(call_key)),
    });
    return [...unfinished, ...repeats];
  }

  #addCall(call: KeptCall): void {
    const { calls, results } = this.#facts;
    calls.push(call);
    const id = toToolUseId(call.call_key);
    const hasFailed = call.is_error === true && !call.is_denied;
    // Several responses may use a short id, and the text of a failed call may come after another call has succeeded.
    if (hasFailed) {
      this.#failed.add(id);
      if (this.#succeeded.has(id)) this.#isExact = false;
    } else if (!this.#failed.has(id) && !results.has(id)) this.#succeeded.add(id);
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
    const { inputs, results } = this.#facts;
    if (tool_use_id !== null && tool_kind !== null && metadata.truncated === undefined) {
      const name = toInputName(message_id, tool_use_id);
      if (!inputs.has(name)) inputs.set(name, toInputFingerprint(tool_input));
    }
    if (tool_result_id === null || result_text === null || result_text === '' || this.#succeeded.has(tool_result_id))
      return;
    const fingerprint = toFingerprint(result_text);
    const known = results.get(tool_result_id);
    if (known === undefined || fingerprint < known) results.set(tool_result_id, fingerprint);
  }

  #addEvent({ kind, is_subagent, line_number }: SessionEvent): void {
    if (kind !== 'prompt') return;
    const { lastLines } = this.#facts;
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
  const text = toSortedText(input);
  return text.length <= MAX_PLAIN_LENGTH ? text : toFingerprint(text);
}

/**
 * A text that tells the value from every other one, with the fields of all objects in one order, as jsonb has them.
 * Faster than JSON, as it leaves texts as they are.
 */
function toSortedText(value: JsonValue): string {
  if (typeof value === 'string') return `"${value.length}:${value}`;
  if (typeof value !== 'object' || value === null) return `${value},`;
  if (Array.isArray(value)) return `[${value.map(toSortedText).join('')}]`;
  const names = Object.keys(value);
  if (names.length > 1) names.sort();
  let fields = '';
  for (const name of names) fields += toSortedText(name) + toSortedText(value[name] ?? null);
  return `{${fields}}`;
}
