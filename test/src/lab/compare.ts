import type { Found, FoundResponse } from './found.ts';
import type { Exchange, ToolUse } from './server/exchange.ts';

/** What recount got wrong about what a program wrote. */
export interface Difference {
  /** Which of recount's ways to read it: `parse`, `usage`, `stored` or `live`. */
  way: string;
  /** In words, with what the server answered and what recount has. */
  text: string;
}

/** What a situation made the program ask and do. */
export interface Expected {
  agent: string;
  exchanges: readonly Exchange[];
  /** What the user typed. */
  prompts: readonly string[];
  /** What the shell printed. */
  outputs: readonly string[];
  /** The program was killed: its last line may be cut. */
  isKilled: boolean;
}

export interface Comparison {
  differences: Difference[];
  /** The exchanges that are in recount's figures, and belong there. */
  counted: Exchange[];
}

const CLASSES = ['input', 'cacheRead', 'cacheWrite', 'output'] as const;

/** What the files of a killed program may have. */
const OF_KILLED = ['invalid_json', 'missing_final_newline', 'truncated_last_line'];

/** An answer that the program received whole, to a prompt of the lab: its usage must be there. */
const isRequired = ({ outcome, marker }: Exchange): boolean => outcome === 'answered' && marker !== undefined;

/** Compares everything that recount read with everything that the server answered. */
export function compare(way: string, expected: Expected, found: Found): Comparison {
  const { texts, counted } = compareResponses(expected.exchanges, found.responses);
  const all = [
    ...texts,
    ...compareTexts(expected, found),
    ...compareCalls(expected, found),
    ...listIssues(expected, found),
  ];
  return { differences: all.map((text) => ({ way, text })), counted };
}

function compareResponses(exchanges: readonly Exchange[], found: readonly FoundResponse[]) {
  const texts: string[] = [];
  const counted: Exchange[] = [];
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
    const begun = take(open, (candidate) => isBegun(candidate, response));
    if (begun !== undefined) continue;
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
    if (isRequired(exchange)) texts.push(`answer ${exchange.number} is missing: ${describeTokens(exchange.tokens)}`);
  }
  return { texts, counted };
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

/** What does not change the sums: the model, and parts of the classes where the transcript states them. */
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

function compareTexts({ agent, exchanges, prompts }: Expected, { sessions }: Found): string[] {
  const texts: string[] = [];
  const own = sessions.filter((session) => session.agent === agent);
  for (const { id, agent: other } of sessions) {
    if (other !== agent) texts.push(`session ${id} is read as ${other}'s`);
  }
  const check = (what: string, text: string, kind: 'prompts' | 'answers') => {
    const counts = own.map((session) => session[kind].filter((each) => each.trim() === text).length);
    if (!counts.some((count) => count > 0))
      texts.push(`${what} is in no session: "${text}"${nearest(own, kind, text)}`);
    else if (Math.max(...counts) > 1) texts.push(`${what} is in a session ${Math.max(...counts)} times: "${text}"`);
  };
  for (const prompt of new Set(prompts)) check('prompt', prompt, 'prompts');
  for (const exchange of exchanges) {
    if (isRequired(exchange) && exchange.text !== '')
      check(`text of answer ${exchange.number}`, exchange.text, 'answers');
  }
  for (const session of own) {
    const typed = session.prompts.filter((text) => prompts.includes(text.trim())).length;
    const isChild = typed === 0;
    if (!isChild && session.promptCount !== typed) {
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

function compareCalls({ agent, exchanges, outputs }: Expected, { sessions }: Found): string[] {
  const texts: string[] = [];
  const own = sessions.filter((session) => session.agent === agent);
  for (const exchange of exchanges.filter(isRequired)) {
    for (const call of exchange.calls) {
      const copies = own.map(({ calls }) => calls.filter(({ id }) => id === call.id));
      const found = copies.flat();
      if (found.length === 0) texts.push(`call ${call.name} of answer ${exchange.number} is missing`);
      else if (copies.some(({ length }) => length > 1))
        texts.push(`call ${call.name} of answer ${exchange.number} is there twice`);
      else if (found[0]?.name !== toFullName(call))
        texts.push(`call ${toFullName(call)} of answer ${exchange.number} is named ${found[0]?.name}`);
      else if (found.every(({ result }) => result === null))
        texts.push(`call ${call.name} of answer ${exchange.number} has no result`);
    }
  }
  const results = own.flatMap(({ calls }) => calls.map(({ result }) => result ?? ''));
  for (const output of outputs) {
    if (!results.some((result) => result.includes(output))) texts.push(`no result of a tool contains "${output}"`);
  }
  return texts;
}

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

export function sumByModel(exchanges: readonly Exchange[]): UsageByModel {
  const sums = new Map<string, Record<(typeof CLASSES)[number], number>>();
  for (const { model, tokens } of exchanges) {
    const sum = sums.get(model) ?? { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
    for (const name of CLASSES) sum[name] += tokens[name];
    sums.set(model, sum);
  }
  return sums;
}

/** The exchanges that must be counted: those of the lab's prompts, and the program's own ones that its files hold. */
export function listCountable(exchanges: readonly Exchange[], counted: readonly Exchange[]): Exchange[] {
  return exchanges.filter((exchange) => isRequired(exchange) || counted.includes(exchange));
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
