import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createRandom } from '../random.ts';
import { expectMostExpensive, expectPullRequests, expectReconciliation, expectSessions } from './expected-sessions.ts';
import {
  expectApiErrors,
  expectCompactions,
  expectDenials,
  expectFiles,
  expectMcpServers,
  expectPrograms,
  expectSkills,
  expectSubagents,
  expectTools,
} from './expected-tools.ts';
import { expectBlocks, expectCaveats, expectModels, expectUsage, type Report } from './expected-usage.ts';
import { type FleetFacts, sumUnits } from './facts.ts';
import { type FleetInstallation, ingestFleet, NOW_MS } from './fleet-installation.ts';
import { generateFleet } from './generate-fleet.ts';
import { OPUS_MODEL } from './known-prices.ts';
import type { Key, Question } from './question.ts';

const BERLIN = 'Europe/Berlin';
const KATHMANDU = 'Asia/Kathmandu';
const ST_JOHNS = 'America/St_Johns';

/** Questions for most reports, also as a query. The dates are days of clock changes. */
const QUESTIONS: readonly (Omit<Question, 'groupBy'> & { query: Record<string, string> })[] = [
  { timeZone: 'UTC', query: {} },
  { timeZone: BERLIN, query: { time_zone: BERLIN } },
  { timeZone: KATHMANDU, query: { time_zone: KATHMANDU } },
  { timeZone: ST_JOHNS, query: { time_zone: ST_JOHNS } },
  {
    timeZone: BERLIN,
    fromMs: Date.parse('2026-03-29T00:00:00+01:00'),
    toMs: Date.parse('2026-03-30T00:00:00+02:00'),
    query: { time_zone: BERLIN, from: '2026-03-29', to: '2026-03-30' },
  },
  {
    timeZone: BERLIN,
    fromMs: Date.parse('2026-10-25T00:00:00+02:00'),
    toMs: Date.parse('2026-10-26T00:00:00+01:00'),
    query: { time_zone: BERLIN, from: '2026-10-25', to: '2026-10-26' },
  },
  {
    timeZone: KATHMANDU,
    fromMs: Date.parse('2026-02-01T00:00:00+05:45'),
    query: { time_zone: KATHMANDU, from: '2026-02-01' },
  },
  { timeZone: 'UTC', subagents: 'exclude', query: { subagents: 'exclude' } },
  { timeZone: 'UTC', subagents: 'only', query: { subagents: 'only' } },
  { timeZone: 'UTC', project: '/srv/beta', query: { project: '/srv/beta' } },
  { timeZone: 'UTC', branch: 'fix/clock', query: { git_branch: 'fix/clock' } },
];

const GROUPINGS: readonly (readonly Key[])[] = [
  [],
  ['hour'],
  ['day'],
  ['week'],
  ['month'],
  ['model'],
  ['project'],
  ['git_branch'],
  ['agent', 'agent_version'],
  ['session'],
  ['day', 'model', 'project'],
];

/** Each takes 16 s of processor time. */
const SEEDS =
  process.env.RECOUNT_TEST_STAGE === 'night'
    ? [1, 20_260_329, ...Array.from({ length: 8 }, (_, index) => inject('propertyTests').seed + index)]
    : [20_260_329];

describe.each(SEEDS)('the fleet generated from seed %i', (seed) => {
  const { files, facts } = generateFleet(seed);
  let fleet: FleetInstallation;

  beforeAll(async () => {
    fleet = await ingestFleet(createRandom(seed + 1).shuffle(files));
  });
  afterAll(() => fleet?.close());

  const ask = async (name: string, query: Record<string, string>): Promise<Report & Record<string, unknown>> =>
    await fleet.read(`/v1/analytics/${name}`, { limit: '10000', ...query });

  const check = async (
    name: string,
    expectReport: (facts: FleetFacts, question: Question) => Report,
    groupings: readonly (readonly Key[])[] | undefined,
    questions = QUESTIONS,
  ): Promise<void> => {
    for (const { query, ...asked } of questions) {
      for (const groupBy of groupings ?? [[]]) {
        const grouped = groupings === undefined ? query : { ...query, group_by: groupBy.join(',') };
        const answer = await ask(name, grouped);
        const expected = expectReport(facts, { ...asked, groupBy });
        const where = `${name} ${JSON.stringify(grouped)}`;
        expect(sortRows(answer.rows.map(withoutDescription)), where).toEqual(sortRows(expected.rows));
        if (expected.rows.length > 0)
          expect(withoutRounding(answer.totals), where).toEqual(withoutRounding(expected.totals));
        expect(answer.truncated).toBe(false);
      }
    }
  };

  it('contains every case to be counted', () => {
    const { responses, toolCalls, events, sessions } = facts;
    expect(new Set(responses.map(({ basis }) => basis))).toEqual(new Set(['list', 'default', 'unpriced']));
    expect(responses.some(({ holders }) => holders.size > 2)).toBe(true);
    expect(responses.some(({ estimatedOutput }) => estimatedOutput !== null)).toBe(true);
    expect(responses.some(({ usage }) => usage.webSearches > 0)).toBe(true);
    expect(toolCalls.some(({ isDenied }) => isDenied)).toBe(true);
    expect(toolCalls.some(({ isError }) => isError === null)).toBe(true);
    expect(new Set(events.map(({ kind }) => kind)).size).toBe(6);
    expect(sessions.filter(({ parentId }) => parentId !== null)).toHaveLength(2);
    expect(sessions.some(({ reportedUnits }) => reportedUnits !== null)).toBe(true);
  });

  it('usage', () => check('usage', expectUsage, GROUPINGS));

  it('usage of a model and of a session', async () => {
    const sessionId = facts.sessions.at(-1)?.id ?? '';
    await check('usage', expectUsage, GROUPINGS, [
      { timeZone: 'UTC', model: OPUS_MODEL, query: { model: OPUS_MODEL } },
      { timeZone: 'UTC', sessionId, query: { session_id: sessionId } },
    ]);
  });

  it('which figures of usage are not exact', async () => {
    for (const { query, ...asked } of QUESTIONS) {
      const { caveats } = await ask('usage', query);
      expect(caveats).toEqual(expectCaveats(facts, { ...asked, groupBy: [] }));
    }
  });

  it('models', () => check('models', expectModels, undefined));
  it('blocks of five hours', () => check('blocks', (of) => expectBlocks(of, NOW_MS), undefined, QUESTIONS.slice(0, 1)));

  it('sessions', async () => {
    const asked = QUESTIONS.filter(({ subagents }) => subagents === undefined).map((question) => ({
      ...question,
      subagents: 'exclude' as const,
    }));
    const groupings = GROUPINGS.filter((keys) => !keys.includes('model') && !keys.includes('session'));
    await check('sessions', expectSessions, groupings, asked);
    const all = { timeZone: 'UTC', query: { subagents: 'include', idle_threshold_ms: '20000' } };
    await check('sessions', (of, question) => expectSessions(of, question, 20_000), groupings, [all]);
  });

  it('the most expensive sessions', async () => {
    const { most_expensive: found } = await ask('sessions', { top: '7' });
    expect(found).toMatchObject(expectMostExpensive(facts, 7));
  });

  it('tool calls of one tool', async () => {
    for (const tool of new Set(facts.toolCalls.map(({ name }) => name))) {
      const ofTool = { ...facts, toolCalls: facts.toolCalls.filter(({ name }) => name === tool) };
      const questions = QUESTIONS.slice(3, 7).map((question) => ({ ...question, query: { ...question.query, tool } }));
      await check(
        'tools',
        (_, question) => expectTools(ofTool, question),
        [['day'], ['model'], ['session']],
        questions,
      );
    }
  });

  it('tools', () => check('tools', expectTools, [...GROUPINGS, ['tool'], ['tool', 'day']]));
  it('files', () => check('files', expectFiles, undefined));
  it('programs', () => check('programs', expectPrograms, undefined));
  it('MCP servers', () => check('mcp-servers', expectMcpServers, undefined));
  it('skills', () => check('skills', expectSkills, undefined));
  it('permission denials', () => check('permission-denials', expectDenials, undefined));
  it('sub-agents', () => check('subagents', expectSubagents, undefined, QUESTIONS.slice(0, 1)));
  it('compactions', () => check('compactions', expectCompactions, [[], ['day'], ['session']]));
  it('API errors', () => check('api-errors', expectApiErrors, [[], ['week'], ['project']]));

  it('pull requests', () => check('pull-requests', expectPullRequests, undefined, QUESTIONS.slice(0, 1)));

  it('reconciliation', async () => {
    const { rows, totals } = await ask('reconciliation', {});
    const expected = expectReconciliation(facts);
    expect(sortRows(rows.map((row) => ({ ...row, title: undefined })))).toEqual(
      sortRows(expected.rows.map((row) => ({ ...row, title: undefined }))),
    );
    expect(totals).toEqual(expected.totals);
  });

  it('is exported whole, each response once', async () => {
    const lines = (await fleet.readText('/v1/export/usage', { format: 'ndjson' })).trimEnd().split('\n');
    const rows = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const expected = facts.responses.map((response) => ({
      response_id: response.key,
      session_id: response.sessionId,
      timestamp: new Date(response.atMs).toISOString(),
      model: response.model,
      tokens_out: response.usage.output,
      cost_usd: response.costs === null ? null : sumUnits(response.costs) / 1e10,
      is_unfinalised: response.estimatedOutput !== null,
      estimated_tokens_out: response.estimatedOutput,
      price_basis: response.basis,
    }));
    const byId = (a: Record<string, unknown>, b: Record<string, unknown>) =>
      String(a.response_id) < String(b.response_id) ? -1 : 1;
    expect(rows.sort(byId)).toMatchObject(expected.sort(byId));
  });
});

/** In a fixed order; each report's test checks which rows come first. */
function sortRows(rows: readonly object[]): object[] {
  const toKey = (row: object): string =>
    JSON.stringify(
      Object.entries(row)
        .filter(([, value]) => typeof value === 'string' || value === null)
        .sort(),
    );
  return rows.map(withoutRounding).sort((a, b) => (toKey(a) < toKey(b) ? -1 : 1));
}

/** Rows by session repeat facts of the session, which are no figures. */
function withoutDescription(row: object): object {
  const { session_title, session_start, is_subagent, ...rest } = row as Record<string, unknown>;
  return rest;
}

/** Means are not sums. Their last digit depends on how they are divided. */
function withoutRounding<Value extends object>(value: Value): Value {
  return JSON.parse(JSON.stringify(value), (key, each) =>
    key === 'mean' && typeof each === 'number' ? Number(each.toPrecision(12)) : each,
  );
}
