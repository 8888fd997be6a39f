import { createRandom, type Random } from '../random.ts';
import type { Fleet, FleetFile, PlannedUsage, SessionFact } from './facts.ts';
import { HAIKU_MODEL, OPUS_MODEL, SONNET_MODEL, UNKNOWN_MODEL } from './known-prices.ts';
import type { FleetLedger, SessionPlan } from './plan.ts';
import { pickTool } from './planned-tools.ts';
import { createTranscriptBuilder, type TranscriptBuilder } from './transcript-builder.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Around clock changes in Berlin, midnights in Kathmandu (18:15 in UTC), ends of weeks, months and a year. */
const STARTS = [
  '2026-03-28T22:40:00.125Z',
  '2026-03-29T00:20:00.000Z',
  '2026-03-29T21:30:00.999Z',
  '2026-10-24T21:45:00.500Z',
  '2026-10-25T00:10:00.000Z',
  '2026-10-25T22:50:00.001Z',
  '2026-01-31T18:05:00.000Z',
  '2026-05-31T18:14:59.999Z',
  '2025-12-31T22:20:00.000Z',
  '2026-06-14T23:30:00.250Z',
];
const PROJECTS = ['/srv/alpha', '/srv/beta', '/srv/gamma, with a comma'];
const BRANCHES = ['main', 'fix/clock', 'release "7"'];
const VERSIONS = ['2.0.14', '2.1.39'];
const MODELS = [SONNET_MODEL, SONNET_MODEL, OPUS_MODEL, HAIKU_MODEL, UNKNOWN_MODEL, null];

interface Shop {
  random: Random;
  ledger: FleetLedger;
  nextPlan(startMs?: number): SessionPlan;
}

/** A generated fleet of transcripts, with all facts about it. Deterministic for a seed. */
export function generateFleet(seed: number, ordinarySessions = 16): Fleet {
  const shop = createShop(seed);
  const finished: TranscriptBuilder[] = [];
  const files: FleetFile[] = [];
  const keep = (...builders: TranscriptBuilder[]): void => {
    for (const builder of builders) {
      finished.push(builder);
      files.push({ path: toPath(builder.plan), text: builder.toText() });
    }
  };
  for (let count = 0; count < ordinarySessions; count++) keep(planOrdinarySession(shop));
  keep(...planFamily(shop));
  keep(...planSubagents(shop));
  const { kept, otherVersions } = planVersions(shop);
  keep(...kept);
  files.push(...otherVersions);
  const { responses, toolCalls, events } = shop.ledger;
  return {
    files,
    facts: {
      responses: [...responses.values()],
      toolCalls: [...toolCalls.values()],
      events,
      sessions: finished.map((builder): SessionFact => builder.toSessionFact()),
    },
  };
}

function createShop(seed: number): Shop {
  const random = createRandom(seed);
  let number = 0;
  let sessionNumber = 0;
  const ledger: FleetLedger = { responses: new Map(), toolCalls: new Map(), events: [], nextNumber: () => ++number };
  return {
    random,
    ledger,
    nextPlan: (startMs = Date.parse(random.pick(STARTS)) + random.integer(0, 40 * MINUTE_MS)) => ({
      sessionId: `10000000-0000-4000-8000-${String(++sessionNumber).padStart(12, '0')}`,
      project: random.pick(PROJECTS),
      branch: random.pick(BRANCHES),
      version: random.pick(VERSIONS),
      startMs,
    }),
  };
}

function planOrdinarySession(shop: Shop): TranscriptBuilder {
  const { random, ledger, nextPlan } = shop;
  const builder = createTranscriptBuilder(ledger, nextPlan());
  if (random.integer(0, 3) === 0) builder.slashCommand('/model');
  work(builder, random, random.integer(3, 9));
  if (random.integer(0, 2) === 0) builder.reportCost(random.integer(1, 900_000) * 1_000_000);
  return builder;
}

/** Turns of any kind, with pauses of seconds to hours. */
function work(builder: TranscriptBuilder, random: Random, turns: number): void {
  for (let turn = 0; turn < turns; turn++) {
    builder.wait(random.pick([1_500, 20_000, 5 * MINUTE_MS, 5 * MINUTE_MS + 1, 47 * MINUTE_MS, 3 * HOUR_MS]));
    builder.prompt(`Please look at part ${turn}.`);
    // A prompt that is never answered, because the user continues typing.
    if (random.integer(0, 7) === 0) continue;
    builder.wait(random.integer(900, 30_000));
    respond(builder, random);
    const surprise = random.integer(0, 9);
    if (surprise === 0) builder.compact(random.pick(['auto', 'manual']), random.integer(90_000, 180_000));
    if (surprise === 1) builder.retry(random.integer(1, 4), random.integer(500, 8_000));
    if (surprise === 2) builder.apiError();
    if (surprise === 3) builder.linkPullRequest('ada/app', random.integer(7, 9));
    builder.wait(random.integer(0, 3_000));
  }
}

function respond(builder: TranscriptBuilder, random: Random): void {
  const isUnfinalised = random.integer(0, 6) === 0;
  const usage = pickUsage(random);
  builder.respond({
    model: random.pick(MODELS),
    usage: isUnfinalised ? { ...usage, output: random.integer(1, 8) } : usage,
    text: 'x'.repeat(random.integer(1, 900)),
    tools: Array.from({ length: random.integer(0, 3) }, () => pickTool(random)),
    isUnfinalised,
    isSidechain: random.integer(0, 11) === 0,
  });
}

function pickUsage(random: Random): PlannedUsage {
  return {
    input: random.integer(1, 4_000),
    output: random.integer(9, 3_000),
    // Occasionally just below, at and above the long-context threshold.
    cacheRead: random.pick([0, 0, random.integer(1, 90_000), 199_000, 200_000, 260_000]),
    cacheWrite5m: random.pick([0, random.integer(1, 9_000)]),
    cacheWrite1h: random.pick([0, 0, random.integer(1, 9_000)]),
    webSearches: random.pick([0, 0, 0, 0, random.integer(1, 4)]),
  };
}

/** A session, a fork of it, a fork of that, and a second fork. All link the same pull request. */
function planFamily({ random, ledger, nextPlan }: Shop): TranscriptBuilder[] {
  const origin = createTranscriptBuilder(ledger, nextPlan(Date.parse('2026-03-29T00:30:00.000Z')));
  work(origin, random, 4);
  const forkPlan = () => nextPlan(origin.nowMs() + random.integer(HOUR_MS, 30 * HOUR_MS));
  const fork = origin.fork(forkPlan());
  work(fork, random, 3);
  const forkOfFork = fork.fork(nextPlan(fork.nowMs() + HOUR_MS));
  work(forkOfFork, random, 2);
  const secondFork = origin.fork(forkPlan());
  work(secondFork, random, 2);
  const family = [origin, fork, forkOfFork, secondFork];
  for (const builder of family) builder.linkPullRequest('ada/app', 42);
  return family;
}

/** A session with sub-agents in separate files, in progress lines, and in both. */
function planSubagents({ random, ledger, nextPlan }: Shop): TranscriptBuilder[] {
  const parent = createTranscriptBuilder(ledger, nextPlan(Date.parse('2026-10-25T00:40:00.000Z')));
  const children = ['explore', 'review'].map((type, index) => {
    const agentId = `a${index}f${index}`;
    parent.prompt(`Ask a sub-agent to ${type}.`);
    parent.wait(2_000);
    const plan: SessionPlan = {
      ...parent.plan,
      agentId,
      parentId: parent.plan.sessionId,
      startMs: parent.nowMs() + 500,
    };
    const child = createTranscriptBuilder(ledger, plan);
    child.prompt(`You are to ${type}.`);
    for (let turn = 0; turn < 3; turn++) {
      child.wait(random.integer(800, 9_000));
      respond(child, random);
    }
    parent.respond({
      model: SONNET_MODEL,
      usage: pickUsage(random),
      text: 'I ask a sub-agent.',
      tools: [
        {
          name: 'Task',
          input: { subagent_type: type, prompt: `You are to ${type}.` },
          facts: { subagentType: type },
          result: { text: 'It is done.', afterMs: 60_000, agentId },
        },
      ],
    });
    return child;
  });
  parent.wait(4_000);
  for (const child of children.slice(0, 1)) {
    const finalised = child.toSessionFact().responses.filter(({ estimatedOutput }) => estimatedOutput === null);
    for (const response of finalised) parent.replay(response, 'a0f0');
  }
  for (let count = 0; count < 4; count++) {
    parent.wait(random.integer(1_000, 40_000));
    parent.progress({ model: HAIKU_MODEL, usage: pickUsage(random) }, 'beef');
  }
  work(parent, random, 3);
  return [parent, ...children];
}

/** A session uploaded half-way and then whole, and one with two diverged versions. */
function planVersions({ random, ledger, nextPlan }: Shop): { kept: TranscriptBuilder[]; otherVersions: FleetFile[] } {
  const resumed = createTranscriptBuilder(ledger, nextPlan());
  work(resumed, random, 3);
  const half = { path: toPath(resumed.plan), text: resumed.toText() };
  work(resumed, random, 3);

  const longer = createTranscriptBuilder(ledger, nextPlan());
  work(longer, random, 3);
  const shorter = longer.diverge();
  work(shorter, random, 1);
  work(longer, random, 6);
  return { kept: [resumed, longer], otherVersions: [half, { path: toPath(shorter.plan), text: shorter.toText() }] };
}

function toPath({ project, sessionId, agentId, parentId }: SessionPlan): string {
  const folder = `/home/ada/.claude/projects/${project.replaceAll(/[^a-z]/g, '-')}`;
  if (agentId === undefined) return `${folder}/${sessionId}.jsonl`;
  return `${folder}/${parentId}/subagents/agent-${agentId}.jsonl`;
}
