import type {
  DemoAgent,
  DemoCall,
  DemoClaudeCall,
  DemoResponse,
  DemoSession,
  DemoTurn,
  DemoUsage,
} from './demo-session.ts';
import {
  COMPANY,
  type DemoPerson,
  type DemoRepository,
  MCP_CALLS,
  MODELS,
  PEOPLE,
  REPOSITORIES,
  SUBAGENTS,
} from './demo-team.ts';
import { type WrittenSession, writeSession } from './write-session.ts';

/** A transcript of the demo, with what its sender would state. */
export interface DemoTranscript extends WrittenSession {
  person: string;
  machine: string;
  /** The remote that git would name. */
  repository: string;
  /** Moment when the session begins, in milliseconds since 1970. */
  startMs: number;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Days of work, the last of them today. */
const DAYS = 75;
/** Days ago when one person's session costs many times as much as others. */
const SPIKE_DAY = 9;
/** Days ago when a session repeats the same failing command. */
const LOOP_DAY = 4;
const LOOP_CALLS = 14;
/** A conversation that pauses for longer finds its cache expired. */
const LONG_PAUSE_MS = 40 * MINUTE_MS;

/**
 * The transcripts of an invented company: 12 people, 6 repositories with worktrees, 5 agents, 9 models, one of them
 * without a price; tools of MCP servers and sub-agents of Claude Code. One day is far more expensive than the others, one
 * session is caught in a loop. Ends at `nowMs`
 * (milliseconds since 1970), and is the same for the same moment. Today is a working day with sessions that have ended,
 * few or none in its first minutes, also on the first morning of a month, which would be empty otherwise. About 400
 * transcripts, made one by one.
 */
export function* generateDemo(nowMs: number): Generator<DemoTranscript> {
  const random = createRandom();
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  for (let daysAgo = DAYS - 1; daysAgo >= 0; daysAgo--) {
    const dayMs = today - daysAgo * DAY_MS;
    const isWeekend = daysAgo > 0 && [0, 6].includes(new Date(dayMs).getUTCDay());
    const [fromMs, toMs] = toWorkingHours(dayMs, nowMs);
    for (const person of PEOPLE) {
      const count = isWeekend
        ? Number(random.chance(0.04))
        : random.integer(0, person.maxSessions) * Number(daysAgo === 0 || random.chance(0.6));
      for (let number = 0; number < count; number++) {
        const minutes = Math.floor((random.integer(0, 540) * (toMs - fromMs)) / (540 * MINUTE_MS));
        const startMs = fromMs + minutes * MINUTE_MS;
        const session = makeSession(random, person, startMs);
        if (toEnd(session) < nowMs) yield* toTranscripts(session);
      }
    }
    const [spender, looper] = PEOPLE;
    const startMs = dayMs + 9 * HOUR_MS;
    if (daysAgo === SPIKE_DAY && spender) yield* toTranscripts(makeSession(random, spender, startMs, 'spike'));
    if (daysAgo === LOOP_DAY && looper) yield* toTranscripts(makeSession(random, looper, startMs, 'loop'));
  }
}

/**
 * Sessions begin from 7 to 16 o'clock UTC; on the last day in the hours before its sessions must end, and in its first
 * hours at any time, as those that would not have ended are left out.
 */
function toWorkingHours(dayMs: number, nowMs: number): [fromMs: number, toMs: number] {
  const toMs = Math.min(dayMs + 16 * HOUR_MS, Math.max(nowMs - 2 * HOUR_MS, Math.min(nowMs, dayMs + HOUR_MS / 2)));
  const fromMs = Math.min(dayMs + 7 * HOUR_MS, Math.max(dayMs, toMs - 3 * HOUR_MS));
  return [fromMs, Math.max(fromMs, toMs)];
}

const toEnd = ({ startMs, turns }: DemoSession): number =>
  Math.max(startMs, ...turns.flatMap(({ responses }) => responses.map(({ atMs }) => atMs)));

/** Yields the transcript of the session, and one of each sub-agent that it starts. */
function* toTranscripts(session: DemoSession): Generator<DemoTranscript> {
  const { person, machine, remote: repository, turns } = session;
  const responses = turns.flatMap((turn) => turn.responses);
  const subagents = responses.flatMap(({ claudeCall }) => claudeCall?.subagent ?? []);
  for (const each of [session, ...subagents.map((subagent) => ({ ...session, ...subagent }))])
    yield { ...writeSession(each), person, machine, repository, startMs: each.startMs };
}

type Incident = 'spike' | 'loop';

function makeSession(random: Random, person: DemoPerson, startMs: number, incident?: Incident): DemoSession {
  const agent = incident === undefined ? random.pick(person.agents) : 'claude-code';
  const repository = toRepository(random.pick(person.repositories));
  const title = random.pick(repository.tasks);
  const branch = random.pick(['main', toBranch(title), toBranch(title)]);
  const checkout = `${person.home}/code/${repository.name}`;
  // A third of the branches is worked on in a worktree.
  const cwd =
    branch === 'main' || random.chance(0.66) ? checkout : `${checkout}/.worktrees/${branch.replace('/', '-')}`;
  const model = incident === 'spike' ? 'claude-opus-5' : random.pick(MODELS[agent]);
  const hasPullRequest = agent === 'claude-code' && branch !== 'main' && random.chance(0.5);
  return {
    ...{ agent, sessionId: random.uuid(), person: person.name, machine: person.machine, home: person.home },
    ...{ cwd, branch, model, title, startMs },
    remote: `git@github.com:${COMPANY}/${repository.name}.git`,
    turns: makeTurns(random, { agent, repository, cwd, title, startMs, incident }),
    ...(hasPullRequest && {
      pullRequest: { number: random.integer(100, 999), repository: `${COMPANY}/${repository.name}` },
    }),
  };
}

function toRepository(name: string): DemoRepository {
  const found = REPOSITORIES.find((repository) => repository.name === name);
  if (found === undefined) throw new RangeError(`no repository ${name}`);
  return found;
}

const toBranch = (title: string): string =>
  `feature/${title
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .slice(0, 3)
    .join('-')}`;

interface Task {
  agent: DemoAgent;
  repository: DemoRepository;
  cwd: string;
  title: string;
  startMs: number;
  incident: Incident | undefined;
}

const WISHES = [
  'Keep the change small, and say what you tested.',
  'Ask if anything is unclear.',
  'Look at how the other modules do it first.',
  'Start with a failing test.',
];
const FOLLOW_UPS = [
  'Good. Are there other places with the same fault?',
  'The tests fail now. Look at the output and fix it.',
  'Write a test that fails without your change.',
  'Keep the change smaller, please.',
  'Summarize what you changed for the pull request.',
];

function makeTurns(random: Random, task: Task): DemoTurn[] {
  const turns: DemoTurn[] = [];
  const context = { tokens: random.integer(24_000, 70_000), isCold: true };
  let atMs = task.startMs;
  const count = task.incident === 'spike' ? 6 : random.integer(1, 4);
  for (let turn = 0; turn < count; turn++) {
    const prompt = turn === 0 ? `${task.title}. ${random.pick(WISHES)}` : random.pick(FOLLOW_UPS);
    const responses = makeResponses(random, task, context, atMs);
    turns.push({ atMs, prompt, responses });
    const last = responses.at(-1)?.atMs ?? atMs;
    const pauseMs = random.chance(0.08)
      ? LONG_PAUSE_MS + random.integer(0, 60) * MINUTE_MS
      : random.integer(20, 200) * SECOND_MS;
    context.isCold = pauseMs >= LONG_PAUSE_MS;
    atMs = last + pauseMs;
  }
  return turns;
}

interface Context {
  tokens: number;
  isCold: boolean;
}
type MakeCall = (atMs: number) => Pick<DemoResponse, 'call' | 'claudeCall'>;

function makeResponses(random: Random, task: Task, context: Context, startMs: number): DemoResponse[] {
  const steps = task.incident === 'spike' ? 20 : random.integer(3, 12);
  const calls: MakeCall[] = Array.from({ length: steps }, () => (atMs) => ({ call: makeCall(random, task, atMs) }));
  if (task.incident === 'loop') {
    const fail: MakeCall = (atMs) => ({ call: runTests(random, task.repository, atMs, true) });
    calls.push(...Array.from({ length: LOOP_CALLS }, () => fail));
  }
  if (task.agent === 'claude-code' && task.incident === undefined) {
    if (random.chance(0.2)) calls.unshift((atMs) => ({ claudeCall: askServer(random, atMs) }));
    if (random.chance(0.12)) calls.unshift((atMs) => ({ claudeCall: startSubagent(random, task, atMs) }));
  }
  const text = 'The change is in place, and the tests pass.';
  return respond(random, { context, incident: task.incident, startMs, calls, text });
}

interface Work {
  context: Context;
  incident: Incident | undefined;
  startMs: number;
  calls: readonly MakeCall[];
  /** The text of the last response, after the calls. */
  text: string;
}

function respond(random: Random, { context, incident, startMs, calls, text }: Work): DemoResponse[] {
  const responses: DemoResponse[] = [];
  let atMs = startMs;
  for (const make of [...calls, undefined]) {
    atMs += random.integer(3, 25) * SECOND_MS;
    const usage = spend(random, context, incident);
    const made = make?.(atMs) ?? {};
    responses.push({ atMs, id: random.hex(24), usage, text: make === undefined ? text : '', ...made });
    atMs = (made.call ?? made.claudeCall)?.endMs ?? atMs;
  }
  return responses;
}

function askServer(random: Random, atMs: number): DemoClaudeCall {
  const isError = random.chance(0.1);
  return {
    ...random.pick(MCP_CALLS),
    ...{ id: random.hex(24), isError, endMs: atMs + random.integer(1, 9) * SECOND_MS },
    ...(isError && { output: 'The server did not answer in time.' }),
  };
}

/** A sub-agent reads and searches, and ends before its call does. */
function startSubagent(random: Random, task: Task, atMs: number): DemoClaudeCall {
  const { type, model, description, prompt, answer } = random.pick(SUBAGENTS);
  const startMs = atMs + SECOND_MS;
  const look: MakeCall = (at) => ({ call: makeCall(random, task, at, ['read', 'read', 'search']) });
  const calls = Array.from({ length: random.integer(3, 9) }, () => look);
  const context = { tokens: random.integer(8_000, 16_000), isCold: true };
  const responses = respond(random, { context, incident: undefined, startMs, calls, text: answer });
  return {
    ...{ id: random.hex(24), name: 'Agent', input: { description, prompt, subagent_type: type } },
    ...{ output: answer, isError: false, endMs: (responses.at(-1)?.atMs ?? startMs) + SECOND_MS },
    subagent: { agentId: random.hex(12), type, model, startMs, turns: [{ atMs: startMs, prompt, responses }] },
  };
}

/** Tokens of the next response, which grows the context. A cold cache is written again. */
function spend(random: Random, context: Context, incident: Incident | undefined): DemoUsage {
  const added = random.integer(500, incident === 'spike' ? 6000 : 4500);
  const { tokens, isCold } = context;
  context.tokens += added;
  context.isCold = false;
  const cache = isCold ? { cacheRead: 0, cacheWrite: tokens + added } : { cacheRead: tokens, cacheWrite: added };
  return { input: random.integer(3, 90), output: random.integer(90, 1800), ...cache };
}

const KINDS = ['read', 'read', 'read', 'search', 'edit', 'edit', 'test', 'git'] as const;

function makeCall(
  random: Random,
  { repository, cwd }: Task,
  atMs: number,
  kinds: readonly (typeof KINDS)[number][] = KINDS,
): DemoCall {
  const file = random.pick(repository.files);
  const path = `${cwd}/${file}`;
  const kind = random.pick(kinds);
  if (kind === 'test') return runTests(random, repository, atMs, random.chance(0.2));
  const call = { id: random.hex(24), endMs: atMs + random.integer(1, 4) * SECOND_MS, isError: false };
  switch (kind) {
    case 'read':
      return {
        ...call,
        action: { kind, path },
        output: `// ${file}\nconst limit = 50;\n`.repeat(random.integer(2, 25)),
      };
    case 'search':
      return {
        ...call,
        action: { kind, pattern: 'limit' },
        output: repository.files.map((each) => `${each}:2`).join('\n'),
      };
    case 'edit': {
      const action = { kind, path, before: 'const limit = 50;', after: `const limit = ${random.integer(2, 9) * 25};` };
      const isError = random.chance(0.05);
      return {
        ...call,
        action,
        isError,
        output: isError ? 'The text to replace was not found.' : 'The file was updated.',
      };
    }
    case 'git':
      return { ...call, action: { kind: 'run', command: 'git diff --stat' }, output: ` ${file} | 4 ++--` };
  }
}

function runTests(random: Random, { test }: DemoRepository, atMs: number, isError: boolean): DemoCall {
  const action = { kind: 'run', command: test } as const;
  const output = isError ? '1 failed, 41 passed\nexpected 50, received 75' : '42 passed';
  return { id: random.hex(24), action, output, isError, endMs: atMs + random.integer(4, 40) * SECOND_MS };
}

interface Random {
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  hex(length: number): string;
  uuid(): string;
}

/** The same numbers in each run (mulberry32). */
function createRandom(): Random {
  let state = 1;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  const hex = (length: number): string => Array.from({ length }, () => integer(0, 15).toString(16)).join('');
  return {
    integer,
    hex,
    chance: (probability) => next() < probability,
    pick<Item>(items: readonly Item[]): Item {
      return items[integer(0, items.length - 1)] as Item;
    },
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  };
}
