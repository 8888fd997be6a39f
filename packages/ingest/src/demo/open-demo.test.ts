import { identifyTranscript, type ParseResult, parseTranscript } from '@recount/core';
import { type DemoTranscript, generateDemo, MODELS, makeDemoBill, PEOPLE } from '@recount/core/demo';
import { createListPrices } from '@recount/prices';
import { expect, it } from 'vitest';
import { chooseDemoBudget } from './choose-demo-budget.ts';
import { readDemoCosts } from './read-demo-costs.ts';

const NOW = Date.parse('2026-11-27T15:20:00Z');
const prices = createListPrices();
const demo = [...generateDemo(NOW)];

const isSubagent = ({ path }: DemoTranscript): boolean => path.includes('/subagents/');

async function parse({ path, text }: DemoTranscript): Promise<ParseResult & { agent: string }> {
  const bytes = Buffer.from(text);
  const { agent, format, sessionId } = identifyTranscript({ path, head: bytes });
  return { ...(await parseTranscript(sessionId ?? '', bytes, { format, prices })), agent: agent ?? '' };
}

it('is what the agents write, with usage for every response and a price for every model but one', async () => {
  const agents = new Set<string>();
  const unpriced = new Set<string | null>();
  let isDear = false;
  for (const transcript of demo) {
    const { agent, errors, warnings, notices, apiResponses, metadata, stats } = await parse(transcript);
    expect([transcript.path, ...errors, ...warnings, ...notices]).toEqual([transcript.path]);
    expect(stats.prompt_count > 0, transcript.path).toBe(!isSubagent(transcript));
    expect(metadata.cwd).toMatch(/^\/(home|Users)\/\w+\/code\//);
    agents.add(agent);
    let cost = 0;
    for (const response of apiResponses) {
      expect(response.tokens_out).toBeGreaterThan(0);
      if (response.cost_usd === null) unpriced.add(response.model);
      cost += Number(response.cost_usd);
    }
    isDear ||= cost > 20;
  }
  expect([...agents].sort()).toEqual(Object.keys(MODELS).sort());
  expect([...unpriced]).toEqual(['qwen3-coder-plus']);
  expect(isDear).toBe(true);
});

it('is the same for the same moment, has each person, and nothing of the future', () => {
  expect([...generateDemo(NOW)]).toEqual(demo);
  expect(new Set(demo.map(({ person }) => person)).size).toBe(PEOPLE.length);
  expect(new Set(demo.map(({ path }) => path)).size).toBe(demo.length);
  const times = demo.flatMap(({ text }) => text.match(/(?<="timestamp":")[^"]+/g) ?? []).map(Date.parse);
  expect(Math.max(...times)).toBeLessThan(NOW);
  expect(Math.min(...times)).toBeGreaterThan(NOW - 76 * 86_400_000);
});

it('has a session for each call of a sub-agent, and calls of tools of MCP servers', async () => {
  const subagents = demo.filter(isSubagent);
  expect(subagents.length).toBeGreaterThan(10);
  const servers = new Set<string | null>();
  let started = 0;
  for (const transcript of demo) {
    const { toolCalls } = await parse(transcript);
    for (const { mcp_server: server } of toolCalls) if (server !== null) servers.add(server);
    started += toolCalls.filter(({ subagent_type: type }) => type !== null).length;
  }
  expect([...servers].sort()).toEqual(['github', 'linear', 'sentry']);
  expect(started).toBe(subagents.length);
});

/** The last one a Sunday. */
const FIRST_DAYS = ['2026-12-01T08:50:00Z', '2027-01-01T05:00:00Z', '2026-11-01T09:00:00Z'];

it.each(FIRST_DAYS)('has sessions of today and a budget of the week at %s', async (now) => {
  const nowMs = Date.parse(now);
  const today = [...generateDemo(nowMs)].filter(({ startMs }) => startMs >= Date.parse(now.slice(0, 10)));
  expect(today.length).toBeGreaterThan(3);
  const times = today.flatMap(({ text }) => text.match(/(?<="timestamp":")[^"]+/g) ?? []).map(Date.parse);
  expect(Math.max(...times)).toBeLessThan(nowMs);
  expect(chooseDemoBudget(nowMs, await readDemoCosts(nowMs))).toMatchObject({ name: 'Company', period: 'week' });
});

it.each([
  ['00:05', 0],
  ['01:00', 5],
  ['01:40', 5],
])('has sessions of today at %s that have ended, which begin at more than %i whole minutes', (time, count) => {
  const dayMs = Date.parse('2026-12-02');
  const nowMs = Date.parse(`2026-12-02T${time}:00Z`);
  const today = [...generateDemo(nowMs)].filter(
    ({ startMs, path }) => startMs >= dayMs && !path.includes('/subagents/'),
  );
  const starts = today.map(({ startMs }) => startMs);
  expect(starts.filter((startMs) => startMs % 60_000 !== 0)).toEqual([]);
  expect(new Set(starts).size).toBeGreaterThan(count);
});

it('has a budget of the month once that is longer than the week', async () => {
  expect(chooseDemoBudget(NOW, await readDemoCosts(NOW))).toMatchObject({ name: 'Company', period: 'month' });
});

it('has a bill of whole days that differs from the costs by what no transcript has', async () => {
  const costs = await readDemoCosts(NOW);
  const bill = makeDemoBill(NOW, costs);
  const days = [...new Set(bill.map(({ day }) => day))];
  expect(days.length).toBeGreaterThan(14);
  expect(days.at(-1)).toBe('2026-11-26');
  const sum = (amounts: readonly (number | null)[]): number =>
    amounts.reduce<number>((all, each) => all + Number(each), 0);
  const inDays = costs.filter(({ agent, atMs }) => {
    const isBilled = agent === 'claude-code' || agent === 'pi';
    return isBilled && days.includes(new Date(atMs).toISOString().slice(0, 10));
  });
  const ofModels = new Set(inDays.map(({ model }) => model));
  const billed = bill.filter(({ model }) => ofModels.has(model));
  const share = sum(billed.map(({ amountUsd }) => amountUsd)) / sum(inDays.map(({ costUsd }) => costUsd));
  expect(share).toBeGreaterThan(1.01);
  expect(share).toBeLessThan(1.2);
  expect(bill.filter(({ model }) => !ofModels.has(model)).map(({ lineItem }) => lineItem)).toEqual(
    expect.arrayContaining(['claude-haiku-4-5 Usage', 'Web Search', 'Promotional credit']),
  );
});
