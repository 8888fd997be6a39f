import {
  addCounts,
  addToModel,
  type Counts,
  isSame,
  type ModelTotal,
  NO_COUNTS,
  subtractCounts,
  sumCounts,
  toCounts,
} from './counts.ts';
import { placeExactly } from './place-exactly.ts';

/** The known facts of a response, from its messages and its record. */
interface CountedResponse {
  /** '' if no line names it. */
  model: string;
  counts: Counts;
  /** True if a `session.usage_record` states all its counts; messages state the output at most. */
  isRecorded: boolean;
  hasMessage: boolean;
  /** Ids of the request, that a compaction may name it by. */
  requestIds: readonly string[];
}

/** A message of a model that no line has named so far. */
interface UnnamedMessage {
  responseId: string;
  requestId: string | null;
}

/** A compaction or tool of a model that no line has named so far. */
interface UnnamedUsage {
  responseId: string;
  counts: Counts;
}

/** The counts of lines, to compare it with the totals of `session.shutdown`. */
export interface CopilotAccounts {
  /** The latest responses, by key. */
  responses: Map<string, CountedResponse>;
  /** Counted since the last total of this run, or since the run began, by model; '' if no line names it. */
  thisRun: Map<string, Counts>;
  /** Counted in runs that ended without a total. */
  killedRuns: Map<string, Counts>;
  /** Compactions and tools since the last total. Totals do not contain them as a rule. */
  beside: Counts;
  /** Responses since the last total whose usage a record states. */
  recorded: number;
  /** Responses whose input is in no figure so far. The next total of their run has it. */
  unrecorded: { thisRun: number; killedRuns: number };
  /** True if the session has any figure. If not, no figure is too low. */
  hasUsage: boolean;
  /** The last total, by model. */
  stated: Map<string, ModelTotal>;
  /** True if the program was started again since. */
  isResumed: boolean;
  /** The latest messages since the last total whose model is unknown. */
  unnamed: UnnamedMessage[];
  /** The same of compactions and tools. */
  unnamedBeside: UnnamedUsage[];
}

/** The excess of a total over what was counted. */
interface Settlement {
  /** Beyond what was counted, by model. */
  remainders: [model: string, counts: Counts][];
  /** The usage of the session beyond the total before. */
  grown: Counts;
  /** Unnamed messages whose model the total leaves no doubt about. */
  named: readonly (UnnamedMessage & { model: string })[];
  namedBeside: readonly (UnnamedUsage & { model: string })[];
  /** Figures that differ and should not. */
  mismatches: { field: keyof Counts; stated: number; counted: number }[];
}

const MAX_RESPONSES = 256;
const MAX_UNNAMED = 100;
const FIELDS = ['input', 'output', 'cacheRead', 'cacheWrite'] as const;

export function createCopilotAccounts(): CopilotAccounts {
  return {
    ...{ responses: new Map(), thisRun: new Map(), killedRuns: new Map(), beside: NO_COUNTS, stated: new Map() },
    ...{ recorded: 0, unrecorded: { thisRun: 0, killedRuns: 0 }, isResumed: false, unnamed: [], unnamedBeside: [] },
    hasUsage: false,
  };
}

/** The program was started, or resumed the session. */
export function beginRun(accounts: CopilotAccounts): void {
  const { thisRun, killedRuns, unrecorded } = accounts;
  for (const [model, counts] of thisRun) addToModel(killedRuns, model, counts);
  thisRun.clear();
  unrecorded.killedRuns += unrecorded.thisRun;
  unrecorded.thisRun = 0;
  Object.assign(accounts, { beside: NO_COUNTS, recorded: 0, isResumed: true, unnamed: [], unnamedBeside: [] });
}

interface Observation {
  /** '' if the line does not name it. */
  model: string;
  counts: Counts;
  isRecord: boolean;
  requestIds?: readonly string[];
}

/**
 * Takes in a line about a response. It counts once, however many lines say so. Returns the known facts of it now, and
 * whether a message has said so before.
 */
export function observeResponse(
  accounts: CopilotAccounts,
  key: string,
  { model, counts, isRecord, requestIds = [] }: Observation,
): CountedResponse & { hadMessage: boolean } {
  const { responses, thisRun, unrecorded } = accounts;
  const before = responses.get(key);
  const merged = toCounts((name) => Math.max(before?.counts[name] ?? 0, counts[name]));
  const now = {
    model: before?.model || model,
    counts: merged,
    isRecorded: isRecord || before?.isRecorded === true,
    hasMessage: !isRecord || before?.hasMessage === true,
    requestIds: before?.requestIds.length ? before.requestIds : requestIds,
  };
  if (before !== undefined && before.model !== now.model) moveCounts(thisRun, before, now.model);
  addToModel(thisRun, now.model, subtractCounts(merged, before?.counts ?? NO_COUNTS));
  accounts.hasUsage ||= merged.output + merged.input > 0;
  if (before?.isRecorded !== now.isRecorded) {
    if (before !== undefined) unrecorded.thisRun = Math.max(0, unrecorded.thisRun - 1);
    if (now.isRecorded) accounts.recorded++;
    else unrecorded.thisRun++;
  }
  responses.delete(key);
  responses.set(key, now);
  if (responses.size > MAX_RESPONSES) responses.delete(responses.keys().next().value ?? key);
  return { ...now, hadMessage: before?.hasMessage === true };
}

function moveCounts(counted: Map<string, Counts>, { model, counts }: CountedResponse, to: string): void {
  const known = counted.get(model);
  // A total may have taken them in since.
  if (known === undefined || known.output < counts.output || known.input < counts.input) return;
  counted.set(model, subtractCounts(known, counts));
  addToModel(counted, to, counts);
}

/** Responses whose input is missing in the session's figures; 0 if it has none. */
export function countOutputOnly({ hasUsage, unrecorded }: CopilotAccounts): number {
  return hasUsage ? unrecorded.thisRun + unrecorded.killedRuns : 0;
}

export function rememberUnnamed({ unnamed }: CopilotAccounts, message: UnnamedMessage): void {
  unnamed.push(message);
  if (unnamed.length > MAX_UNNAMED) unnamed.shift();
}

export function rememberUnnamedUsage({ unnamedBeside }: CopilotAccounts, usage: UnnamedUsage): void {
  unnamedBeside.push(usage);
  if (unnamedBeside.length > MAX_UNNAMED) unnamedBeside.shift();
}

/** True if a record has counted the request of a compaction already. It has one of its ids, or the same counts. */
export function isRecordedRequest(
  { responses }: CopilotAccounts,
  counts: Counts,
  ids: readonly (string | null)[],
): boolean {
  for (const { isRecorded, hasMessage, requestIds, counts: known } of responses.values()) {
    if (!isRecorded || hasMessage) continue;
    if (requestIds.some((id) => ids.includes(id)) || isSame(known, counts)) return true;
  }
  return false;
}

/**
 * Compares a total with what was counted. Some versions begin it at 0 with each run, later ones continue the total
 * before. `isMarked` means that the total itself says so.
 */
export function settle(accounts: CopilotAccounts, totals: Map<string, ModelTotal>, isMarked: boolean): Settlement {
  forgetRestarted(accounts, totals, isMarked);
  const { stated: last, thisRun, unnamed, unnamedBeside } = accounts;
  const isComplete = accounts.recorded > 0 && accounts.unrecorded.thisRun === 0;
  const before = (model: string): Counts => last.get(model)?.counts ?? NO_COUNTS;
  const own = new Map(thisRun);
  if (isMarked && hasMore(accounts, totals)) {
    // Later versions add up the records of runs that were killed.
    for (const [model, counts] of accounts.killedRuns) addToModel(own, model, counts);
    accounts.killedRuns.clear();
    accounts.unrecorded.killedRuns = 0;
  }
  const rest = [...totals].map(([model, { counts: now }]) => ({
    ...{ model, now, counted: addCounts(before(model), own.get(model) ?? NO_COUNTS) },
  }));
  const unnamedCounts = [...own].flatMap(([model, counts]) => (totals.has(model) ? [] : [counts]));
  const unplaced = sumCounts([...unnamedCounts, ...(isComplete ? [] : rest.map(takeSurplus))]);
  const candidates = rest.filter(({ now, counted }) => now.output > counted.output);
  const [only] = candidates.filter(({ now, counted }) => now.output - counted.output === unplaced.output);
  const name = rest.length === 1 ? rest[0]?.model : only?.model;
  const named =
    name === undefined ? nameByOutput(accounts, rest) : unnamed.map((message) => ({ ...message, model: name }));
  const namedBeside =
    rest.length === 1 && name !== undefined ? unnamedBeside.map((usage) => ({ ...usage, model: name })) : [];
  const missing = place(unplaced, rest);
  const { beside } = accounts;
  const open = sumCounts(rest.map(({ now, counted }) => subtractCounts(now, counted)));
  if (beside.output > 0 && open.output === beside.output) place(beside, rest);

  const mismatches = rest.flatMap(({ now, counted }) =>
    FIELDS.flatMap((field) => {
      const isExpected = isComplete ? counted[field] === now[field] : counted[field] <= now[field];
      return isExpected ? [] : [{ field, stated: now[field], counted: counted[field] }];
    }),
  );
  const stated = sumCounts(rest.map(({ now }) => now));
  for (const field of FIELDS) {
    if (missing[field] > 0) mismatches.push({ field, stated: stated[field], counted: stated[field] + missing[field] });
  }
  const remainders = rest.map(({ model, now, counted }) => [model, subtractCounts(now, counted)] as [string, Counts]);
  const grown = sumCounts(rest.map(({ model, now }) => subtractCounts(now, before(model))));

  for (const [model, total] of totals) last.set(model, total);
  thisRun.clear();
  accounts.unrecorded.thisRun = 0;
  accounts.hasUsage = true;
  Object.assign(accounts, { beside: NO_COUNTS, recorded: 0, isResumed: false, unnamed: [], unnamedBeside: [] });
  return { remainders, grown, named, namedBeside, mismatches };
}

/** Forgets the total before if this one does not continue it. */
function forgetRestarted(accounts: CopilotAccounts, totals: Map<string, ModelTotal>, isMarked: boolean): void {
  const { stated, isResumed } = accounts;
  const shrunk = [...stated].flatMap(([model, { counts }]) => {
    // In one run, a total that leaves out a model says nothing about it.
    const now = totals.get(model)?.counts ?? (isResumed ? NO_COUNTS : counts);
    return FIELDS.some((field) => now[field] < counts[field]) ? [model] : [];
  });
  if (isResumed && (shrunk.length > 0 || !continues(accounts, totals, isMarked))) stated.clear();
  for (const model of shrunk) stated.delete(model);
}

/** True if a total that has grown over a new start of the program continues the one before. */
function continues(
  { stated, thisRun, recorded, unrecorded }: CopilotAccounts,
  totals: Map<string, ModelTotal>,
  isMarked: boolean,
): boolean {
  if (isMarked) return true;
  // Neither the total nor a line of the new run says so. Then it must be large enough for both.
  const sum = (all: Map<string, ModelTotal>, read: (total: ModelTotal) => number): number =>
    [...all.values()].reduce((total, model) => total + read(model), 0);
  const isLarger = (own: number, read: (total: ModelTotal) => number): boolean =>
    sum(totals, read) >= sum(stated, read) + own;
  const responseCount = recorded + unrecorded.thisRun;
  const { output } = sumCounts(thisRun.values());
  if (output > 0) return isLarger(output, ({ counts }) => counts.output);
  const isCounted = sum(totals, ({ requests }) => requests) > 0;
  return responseCount === 0 || (isCounted && isLarger(responseCount, ({ requests }) => requests));
}

/** True if the total says more than the one before and the lines of this run. */
function hasMore({ stated, thisRun }: CopilotAccounts, totals: Map<string, ModelTotal>): boolean {
  const sum = (all: Map<string, ModelTotal>): number => sumCounts([...all.values()].map(({ counts }) => counts)).output;
  return sum(totals) > sum(stated) + sumCounts(thisRun.values()).output;
}

interface OpenTotal {
  now: Counts;
  counted: Counts;
}

/** The models of unnamed messages, if their output leaves no doubt. */
function nameByOutput(
  { unnamed, responses }: CopilotAccounts,
  rest: readonly (OpenTotal & { model: string })[],
): (UnnamedMessage & { model: string })[] {
  const messages = unnamed
    .map((message) => ({ message, output: responses.get(message.responseId)?.counts.output ?? 0 }))
    .filter(({ output }) => output > 0);
  const open = rest.map(({ now, counted }) => Math.max(0, now.output - counted.output));
  const places = placeExactly(
    messages.map(({ output }) => output),
    open,
  );
  return messages.flatMap(({ message }, index) => {
    const model = rest[places?.[index] ?? -1]?.model;
    return model === undefined ? [] : [{ ...message, model }];
  });
}

/** Removes and returns what was counted for a model beyond its total. Messages may name another model. */
function takeSurplus(total: OpenTotal): Counts {
  const surplus = subtractCounts(total.counted, total.now);
  total.counted = subtractCounts(total.counted, surplus);
  return surplus;
}

/**
 * Places what was counted under other names, or none, where totals are open, first where it fits exactly, then where
 * most is open. Returns what finds no place.
 */
function place(counts: Counts, totals: OpenTotal[]): Counts {
  const openOutput = ({ now, counted }: OpenTotal): number => now.output - counted.output;
  const toRank = (total: OpenTotal): number =>
    openOutput(total) === counts.output ? Number.MAX_SAFE_INTEGER : openOutput(total);
  let left = counts;
  for (const total of totals.toSorted((one, other) => toRank(other) - toRank(one))) {
    const open = subtractCounts(total.now, total.counted);
    const placed = toCounts((field) => Math.min(open[field], left[field]));
    total.counted = addCounts(total.counted, placed);
    left = subtractCounts(left, placed);
  }
  return left;
}
