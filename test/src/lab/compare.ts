import type { Found, FoundResponse, FoundSession } from './found.ts';
import type { AnsweredCall, Exchange, ToolUse } from './server/exchange.ts';
import type { Written } from './written.ts';

/** An error of recount about a program's files. */
export interface Difference {
  /** Which of recount's ways to read it: `parse`, `usage`, `stored` or `live`. */
  way: string;
  /** In words, with what the server answered and what recount has. */
  text: string;
}

/** The requests and actions of a program in a situation. */
export interface Expected {
  agent: string;
  exchanges: readonly Exchange[];
  /** The user's input. */
  prompts: readonly string[];
  /** The shell's output. */
  outputs: readonly string[];
  /** The program was killed, so its last line may be cut. */
  isKilled: boolean;
  /** In all files that the program wrote, because what is in no file cannot be read. */
  written: Written;
}

export interface Comparison {
  differences: Difference[];
  /** The exchanges that are in recount's figures, and belong there. */
  counted: Exchange[];
  /** Responses that the program got only the beginning of, as it states them. */
  begun: FoundResponse[];
}

const CLASSES = ['input', 'cacheRead', 'cacheWrite', 'output'] as const;

/** Parts that the files of a killed program may have. */
const OF_KILLED = ['invalid_json', 'missing_final_newline', 'truncated_last_line'];

/** An answer that the program received whole, to a prompt of the lab. Its usage must be there. */
const isRequired = ({ outcome, marker }: Exchange): boolean => outcome === 'answered' && marker !== undefined;

/** Compares everything that recount read with everything that the server answered. */
export function compare(way: string, expected: Expected, found: Found): Comparison {
  const { texts, counted, begun } = compareResponses(expected, found.responses);
  const all = [
    ...texts,
    ...compareTexts(expected, found),
    ...compareCalls(expected, found),
    ...listIssues(expected, found),
  ];
  return { differences: all.map((text) => ({ way, text })), counted, begun };
}

function compareResponses({ exchanges, written }: Expected, found: readonly FoundResponse[]) {
  const texts: string[] = [];
  const counted: Exchange[] = [];
  const begun: FoundResponse[] = [];
  const open = new Set(exchanges);
  const rest = found.filter((response) => {
    const exchange = take(open, (candidate) => isEqual(candidate, response));
    if (exchange === undefined) return true;
    counted.push(exchange);
    texts.push(...compareParts(exchange, response));
    return false;
  });
  for (const response of rest) {
    // A program that got only the beginning of an answer may state its input.
    if (take(open, (candidate) => isBegun(candidate, response)) !== undefined) {
      begun.push(response);
      continue;
    }
    const meant = take(open, (candidate) =>
      CLASSES.some((name) => candidate.tokens[name] > 0 && candidate.tokens[name] === response[name]),
    );
    const copied = exchanges.find((candidate) => isEqual(candidate, response));
    if (meant !== undefined) {
      counted.push(meant);
      texts.push(`answer ${meant.number}: ${describeTokens(meant.tokens)}, found ${describeTokens(response)}`);
    } else if (copied !== undefined) texts.push(`answer ${copied.number} counts twice: ${describeTokens(response)}`);
    else texts.push(`a response that the server never gave: ${describeTokens(response)}, model ${response.model}`);
  }
  for (const exchange of open) {
    const file = isRequired(exchange) ? written.findOutput(exchange) : undefined;
    if (file !== undefined)
      texts.push(`answer ${exchange.number} is missing: ${describeTokens(exchange.tokens)}${at(file)}`);
  }
  return { texts, counted, begun };
}

function take(open: Set<Exchange>, fits: (exchange: Exchange) => boolean): Exchange | undefined {
  for (const exchange of open) {
    if (exchange.outcome === 'refused' || !fits(exchange)) continue;
    open.delete(exchange);
    return exchange;
  }
  return undefined;
}

const isEqual = ({ outcome, tokens }: Exchange, response: FoundResponse): boolean =>
  outcome !== 'refused' && CLASSES.every((name) => tokens[name] === response[name]);

const isBegun = ({ outcome, tokens }: Exchange, response: FoundResponse): boolean =>
  (outcome === 'cut' || outcome === 'hung') &&
  response.output <= tokens.output &&
  (['input', 'cacheRead', 'cacheWrite'] as const).every(
    (name) => response[name] === tokens[name] || response[name] === 0,
  );

/** Facts that do not change the sums (the model, and parts of the classes where the transcript states them). */
function compareParts(exchange: Exchange, response: FoundResponse): string[] {
  const { number, model, tokens, serviceTier, speed } = exchange;
  const texts: string[] = [];
  const expect = (what: string, right: unknown, got: unknown) => {
    if (right !== got) texts.push(`${what} of answer ${number}: ${right}, found ${got}`);
  };
  expect('model', model, response.model);
  for (const part of ['cacheWrite1h', 'reasoning'] as const) {
    if (response[part] !== 0) expect(part, tokens[part], response[part]);
  }
  if (serviceTier !== undefined) expect('service tier', serviceTier, response.serviceTier);
  if (speed !== undefined) expect('speed', speed, response.speed);
  return texts;
}

function compareTexts({ agent, exchanges, prompts, written }: Expected, { sessions }: Found): string[] {
  const texts: string[] = [];
  const own = sessions.filter((session) => session.agent === agent);
  for (const { id, agent: other } of sessions) {
    if (other !== agent) texts.push(`session ${id} is read as ${other}'s`);
  }
  const check = (what: string, text: string, kind: 'prompts' | 'answers') => {
    const most = Math.max(0, ...own.map((session) => session[kind].filter((each) => each.trim() === text).length));
    if (most > 1) texts.push(`${what} is in a session ${most} times: "${text}"`);
    const file = most === 0 ? written.findText(text) : undefined;
    if (file !== undefined) texts.push(`${what} is in no session: "${text}"${nearest(own, kind, text)}${at(file)}`);
  };
  for (const prompt of new Set(prompts)) check('prompt', prompt, 'prompts');
  for (const { number, text } of exchanges.filter(isRequired)) {
    if (text !== '') check(`text of answer ${number}`, text, 'answers');
  }
  for (const session of own) {
    // Sub-agents have none that the user typed.
    const typed = session.prompts.filter((text) => prompts.includes(text.trim())).length;
    if (typed > 0 && session.promptCount !== typed) {
      texts.push(`session ${session.id} has ${typed} prompts, counted ${session.promptCount}`);
    }
  }
  return texts;
}

/** Texts that contain the expected one say what was added to it. */
function nearest(sessions: Found['sessions'], kind: 'prompts' | 'answers', text: string): string {
  const longer = sessions.flatMap((session) => session[kind]).find((each) => each.includes(text));
  return longer === undefined ? '' : `, but within "${longer.slice(0, 300)}"`;
}

function compareCalls({ agent, exchanges, outputs, written }: Expected, { sessions }: Found): string[] {
  const texts: string[] = [];
  const own = sessions.filter((session) => session.agent === agent);
  for (const { number, calls } of exchanges.filter(isRequired)) {
    for (const call of calls) {
      const fault = findFaultOfCall(call, own, written);
      if (fault !== undefined) texts.push(`call ${toFullName(call)} of answer ${number} ${fault}`);
    }
  }
  const results = own.flatMap(({ calls }) => calls.map(({ result }) => result ?? ''));
  for (const output of outputs) {
    const file = results.some((result) => result.includes(output)) ? undefined : written.findText(output);
    if (file !== undefined) texts.push(`no result of a tool contains "${output}"${at(file)}`);
  }
  return texts;
}

function findFaultOfCall(call: AnsweredCall, own: readonly FoundSession[], written: Written): string | undefined {
  // Some programs put the tool's name before the id.
  const copies = own.map(({ calls }) => calls.filter(({ id }) => id?.endsWith(call.id)));
  const found = copies.flat();
  const file = found.length === 0 ? written.findText(call.id) : undefined;
  if (file !== undefined) return `is missing${at(file)}`;
  if (copies.some(({ length }) => length > 1)) return 'is there twice';
  const other = found.find(({ name }) => name !== toFullName(call));
  if (other !== undefined) return `is named ${other.name}`;
  return found.length > 0 && found.every(({ result }) => result === null) ? 'has no result' : undefined;
}

const at = (file: string): string => `; it is in ${file}`;

const toFullName = ({ name, namespace }: ToolUse): string => (namespace === undefined ? name : `${namespace}__${name}`);

/** Errors and warnings, alike ones together; notices say only what recount does not read. */
function listIssues({ isKilled }: Expected, { sessions }: Found): string[] {
  const counts = new Map<string, number>();
  for (const { code, severity, message } of sessions.flatMap(({ issues }) => issues)) {
    if (severity === 'notice' || (isKilled && OF_KILLED.includes(code))) continue;
    const text = `${severity} ${code}: ${message}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => (count === 1 ? text : `${text} (${count} times)`));
}

export function describeTokens(tokens: Pick<FoundResponse, (typeof CLASSES)[number]>): string {
  return `${tokens.input} in, ${tokens.cacheRead} cache read, ${tokens.cacheWrite} cache write, ${tokens.output} out`;
}

/** Tokens by model. */
export type UsageByModel = ReadonlyMap<string, Pick<FoundResponse, (typeof CLASSES)[number]>>;

export function sumByModel(exchanges: readonly Exchange[], begun: readonly FoundResponse[] = []): UsageByModel {
  const sums = new Map<string, Record<(typeof CLASSES)[number], number>>();
  const all = [...exchanges, ...begun.map((response) => ({ model: response.model ?? 'no model', tokens: response }))];
  for (const { model, tokens } of all) {
    const sum = sums.get(model) ?? { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
    for (const name of CLASSES) sum[name] += tokens[name];
    sums.set(model, sum);
  }
  return sums;
}

/**
 * The exchanges that must be counted, which are those that are, and the exchanges of the lab’s prompts whose usage is
 * in some file.
 */
export function listCountable(
  exchanges: readonly Exchange[],
  counted: readonly Exchange[],
  written: Written,
): Exchange[] {
  return exchanges.filter(
    (exchange) => counted.includes(exchange) || (isRequired(exchange) && written.findOutput(exchange) !== undefined),
  );
}

export function compareSums(way: string, expected: UsageByModel, found: UsageByModel): Difference[] {
  const models = new Set([...expected.keys(), ...found.keys()]);
  return [...models].flatMap((model) => {
    const none = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
    const right = describeTokens(expected.get(model) ?? none);
    const got = describeTokens(found.get(model) ?? none);
    return right === got ? [] : [{ way, text: `${model}: ${right}, found ${got}` }];
  });
}
