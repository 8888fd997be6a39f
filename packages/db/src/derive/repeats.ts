import type { ToolCall } from '@recount/core';
import type { DerivedFinding } from './derived-rows.ts';
import { compareBytes, getOrAdd, toGroupName } from './keys.ts';

/** The fields of a call that findings need. */
const CALL_FIELDS = [
  ...(['call_key', 'line_number', 'is_subagent', 'message_id', 'response_key', 'timestamp', 'model'] as const),
  ...([
    'tool_name',
    'tool_kind',
    'file_path',
    'program',
    'input_bytes',
    'output_bytes',
    'is_error',
    'is_denied',
  ] as const),
] as const satisfies readonly (keyof ToolCall)[];
export type KeptCall = Pick<ToolCall, (typeof CALL_FIELDS)[number]>;

/** A call's fields in their order, which take less room than an object. */
export const toCallFields = (call: KeptCall): unknown[] => CALL_FIELDS.map((name) => call[name]);
export const ofCallFields = (fields: readonly unknown[]): KeptCall =>
  Object.fromEntries(CALL_FIELDS.map((name, index) => [name, fields[index]])) as unknown as KeptCall;

type TextOf = (call: KeptCall) => string | undefined;

/** Fingerprints of texts. Calls are compared by them. */
export interface CallTexts {
  /** The input of a call; undefined if it was cut or is unknown. */
  inputOf: TextOf;
  /** The text of a call's result; undefined if it has none. */
  resultOf: TextOf;
}

/** A call among all calls of its conversation. */
interface PlacedCall {
  call: KeptCall;
  /** It may equal the call before it. */
  repeats: boolean;
  /** It failed, and may have done so like the call before it. */
  failsAgain: boolean;
}

/** Number of equal calls, errors or reads that makes a finding. */
const MIN_REPEATS = 3;

/**
 * Calls that were repeated three times or more in a row, errors that came three times in a row, and files that were read
 * three times without an edit in between; as in `findings/select-repeats.ts`. Calls are in the order of their results.
 */
export function findRepeats(calls: readonly KeptCall[], texts: CallTexts): DerivedFinding[] {
  const ordered = calls.toSorted((one, other) => one.line_number - other.line_number);
  const [main, subagent] = [false, true].map((isOfSubagent) =>
    place(ordered.filter(({ is_subagent }) => is_subagent === isOfSubagent)),
  );
  return [
    ...[main, subagent].flatMap((conversation = []) => [
      ...findRuns(conversation, 'repeats', texts.inputOf).map((run) => toRepeat('repeated-call', run)),
      ...findRuns(conversation, 'failsAgain', texts.resultOf).map((run) => toRepeat('repeated-error', run)),
    ]),
    ...findReads(ordered, texts).map((reads) => toRepeat('repeated-read', reads)),
  ];
}

/** A denied call did not run. */
const isFailed = ({ is_error, is_denied }: KeptCall): boolean => is_error === true && !is_denied;

function place(conversation: readonly KeptCall[]): PlacedCall[] {
  return conversation.map((call, index) => {
    const before = conversation[index - 1];
    return {
      call,
      repeats: before !== undefined && toCallColumns(call) === toCallColumns(before),
      failsAgain:
        before !== undefined && isFailed(call) && isFailed(before) && toErrorColumns(call) === toErrorColumns(before),
    };
  });
}

const toCallColumns = ({ tool_name, input_bytes, file_path, program }: KeptCall): string =>
  toGroupName([tool_name, input_bytes, file_path, program]);

const toErrorColumns = ({ tool_name, output_bytes }: KeptCall): string => toGroupName([tool_name, output_bytes]);

/**
 * Runs of at least three neighbours that are alike by their columns, and have equal texts. Texts are asked for only then.
 */
function findRuns(
  conversation: readonly PlacedCall[],
  isAlike: 'repeats' | 'failsAgain',
  textOf: TextOf,
): KeptCall[][] {
  const runs: KeptCall[][] = [];
  let run: PlacedCall[] = [];
  const close = (): void => {
    if (run.length >= MIN_REPEATS) runs.push(...splitByText(run, textOf));
    run = [];
  };
  for (const placed of conversation) {
    if (!placed[isAlike]) close();
    run.push(placed);
  }
  close();
  return runs;
}

/** Parts of a run with equal texts, at least three of them. A call without a text ends a part. */
function splitByText(run: readonly PlacedCall[], textOf: TextOf): KeptCall[][] {
  const parts: { text: string | undefined; calls: KeptCall[] }[] = [];
  for (const { call } of run) {
    const text = textOf(call);
    const last = parts.at(-1);
    if (text !== undefined && last?.text === text) last.calls.push(call);
    else parts.push({ text, calls: [call] });
  }
  return parts.flatMap(({ text, calls }) => (text !== undefined && calls.length >= MIN_REPEATS ? [calls] : []));
}

/** Reads of a file with the same input, and no edit that succeeded in between, at least three of them. */
function findReads(ordered: readonly KeptCall[], texts: CallTexts): KeptCall[][] {
  const epochs = new Map<string, number>();
  const reads: { call: KeptCall; unedited: string; alike: string }[] = [];
  const counts = new Map<string, number>();
  for (const call of ordered) {
    const { file_path, tool_kind, input_bytes } = call;
    if (file_path === null || isFailed(call)) continue;
    const epoch = epochs.get(file_path) ?? 0;
    if (tool_kind === 'edit') epochs.set(file_path, epoch + 1);
    if (tool_kind !== 'read') continue;
    const unedited = toGroupName([file_path, epoch]);
    const alike = toGroupName([file_path, epoch, input_bytes]);
    reads.push({ call, unedited, alike });
    counts.set(alike, (counts.get(alike) ?? 0) + 1);
  }
  const same = new Map<string, KeptCall[]>();
  for (const { call, unedited, alike } of reads) {
    if ((counts.get(alike) ?? 0) < MIN_REPEATS) continue;
    const input = texts.inputOf(call);
    if (input !== undefined) getOrAdd(same, `${unedited}\0${input}`, () => []).push(call);
  }
  return [...same.values()].filter((calls) => calls.length >= MIN_REPEATS);
}

/** A finding about calls in order. All except the first are repeats. */
function toRepeat(kind: DerivedFinding['kind'], calls: readonly KeptCall[]): DerivedFinding {
  const [first, ...others] = calls;
  if (first === undefined) throw new RangeError('A repeat has calls');
  const { is_subagent, model, message_id, line_number } = first;
  const subjects = calls.flatMap(({ file_path, program }) => file_path ?? program ?? []);
  const names = calls.map(({ tool_name }) => tool_name);
  const timestamps = calls.flatMap(({ timestamp }) => timestamp ?? []);
  return {
    ...{ kind, is_subagent, model, message_id, line_number },
    tool_name: names.sort(compareBytes)[0] ?? null,
    timestamp: timestamps.sort()[0] ?? null,
    subject: subjects.sort(compareBytes)[0] ?? null,
    times: calls.length,
    output_bytes: others.reduce((sum, { output_bytes }) => sum + (output_bytes ?? 0), 0),
    tokens: 0,
    // Postgres' lists of texts may have nulls, which drizzle's type does not say.
    response_keys: others.map(({ response_key }) => response_key) as string[],
  };
}
