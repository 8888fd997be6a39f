import type { TestApi } from '@recount/api/testing/test-api';
import {
  expectDenials,
  expectFiles,
  expectMcpServers,
  expectPrograms,
  expectSkills,
  expectSubagents,
  expectTools,
} from '../fleet/expected-tools.ts';
import { expectModels, expectUsage, type Report } from '../fleet/expected-usage.ts';
import type { FleetFacts, FleetFile } from '../fleet/facts.ts';
import type { Key, Question } from '../fleet/question.ts';
import type { Columns } from './shown-figures.ts';

/** The people of the fleet's sessions, by session number; sub-agents have their parents'. */
export const PEOPLE = ['ada', 'bo'] as const;
export const toPerson = (sessionId: string): string => PEOPLE[Number(sessionId.slice(24, 36)) % PEOPLE.length] ?? '';

/** Ingests a fleet as two people on their machines. */
export async function uploadFleet(api: TestApi, files: readonly FleetFile[]): Promise<void> {
  for (const { path, text } of files) {
    const person = toPerson(/10000000-0000-4000-8000-\d{12}/.exec(path)?.[0] ?? '');
    await api.upload(text, { path, person, machine: `of ${person}` });
  }
  await api.work({ maxLineBytes: 64 * 1024 * 1024 });
}

export const usageColumns = (of: string): Columns => [
  [`${of}cost_usd`, 'money'],
  ['sessions', 'count'],
  [`${of}responses`, 'count'],
  [`${of}tokens_in`, 'tokens'],
  [`${of}tokens_out`, 'tokens'],
  [`${of}cache_read`, 'tokens'],
  [`${of}cache_write`, 'tokens'],
  [`${of}cache_hit_ratio`, 'percent'],
];
export const CALLS: Columns = [
  ['calls', 'count'],
  ['errors', 'count'],
  ['error_rate', 'percent'],
  ['denied', 'count'],
  ['sessions', 'count'],
];
export const OUTPUT: Columns = [['output_bytes'], ['estimated_tokens', 'tokens']];
export const DURATIONS: Columns = [['duration_p50_ms'], ['duration_p95_ms']];
const DENIALS: Columns = [
  ['denied', 'count'],
  ['calls', 'count'],
  ['denial_rate', 'percent'],
  ['sessions', 'count'],
];
const FILES: Columns = [
  ['calls', 'count'],
  ['reads', 'count'],
  ['edits', 'count'],
  ['errors', 'count'],
  ['sessions', 'count'],
  ...OUTPUT,
];
const SUBAGENT_COST = ['cost_usd', 'money'] as const;
const SUBAGENTS: Columns = [
  ['calls', 'count'],
  ['errors', 'count'],
  ['parents', 'count'],
  ['subagents', 'count'],
  ['total_tokens', 'tokens'],
  ['cache_hit_ratio', 'percent'],
];

/** A report's page, and what it should show for a fleet. */
export interface BreakdownUnderTest {
  /** May include a query. */
  path: string;
  /** Name of the field that identifies a row. */
  name: string;
  columns: Columns;
  totals: Columns;
  expected: (facts: FleetFacts, question: Question) => Report;
}

const by =
  (report: BreakdownUnderTest['expected'], ...groupBy: readonly Key[]): BreakdownUnderTest['expected'] =>
  (facts, question) =>
    report(facts, { ...question, groupBy });

/** The fleet's responses in a person's sessions, each held only by these. */
export function toFactsOf(facts: FleetFacts, person: string): FleetFacts {
  const sessions = facts.sessions.filter(({ id }) => toPerson(id) === person);
  const ids = new Set(sessions.map(({ id }) => id));
  const responses = facts.responses.flatMap((response) => {
    const holders = new Set([...response.holders].filter((holder) => ids.has(holder)));
    return holders.size === 0 ? [] : [{ ...response, holders }];
  });
  return { ...facts, sessions, responses };
}

const expectPeople = (facts: FleetFacts, question: Question): Report => ({
  rows: PEOPLE.flatMap((person) => {
    const { rows, totals } = expectUsage(toFactsOf(facts, person), { ...question, groupBy: [] });
    return rows.length === 0 ? [] : [{ ...totals, person }];
  }),
  totals: expectUsage(facts, { ...question, groupBy: [] }).totals,
});

/** Breakdowns that are also tested by day. */
export const DAILY_BREAKDOWNS: readonly BreakdownUnderTest[] = [
  {
    path: '/tools',
    name: 'tool',
    columns: [...CALLS, ...DURATIONS, ...OUTPUT],
    totals: [...CALLS, ...DURATIONS, ...OUTPUT],
    expected: by(expectTools, 'tool'),
  },
  { path: '/files', name: 'file_path', columns: FILES, totals: FILES, expected: expectFiles },
  {
    path: '/projects?view=project',
    name: 'project',
    columns: usageColumns('own.'),
    totals: usageColumns('own.'),
    expected: by(expectUsage, 'project'),
  },
  {
    path: '/models',
    name: 'model',
    columns: usageColumns(''),
    totals: usageColumns(''),
    expected: expectModels,
  },
  {
    path: '/people',
    name: 'person',
    columns: usageColumns('own.'),
    totals: usageColumns('own.'),
    expected: expectPeople,
  },
];

export const OTHER_BREAKDOWNS: readonly BreakdownUnderTest[] = [
  {
    path: '/tools?view=programs',
    name: 'program',
    columns: [...CALLS, ...DURATIONS, ...OUTPUT],
    totals: [...CALLS, ...DURATIONS, ...OUTPUT],
    expected: expectPrograms,
  },
  {
    path: '/tools?view=mcp',
    name: 'mcp_server',
    columns: [['tools', 'count'], ...CALLS, ...OUTPUT],
    totals: [...CALLS, ...OUTPUT],
    expected: expectMcpServers,
  },
  {
    path: '/tools?view=skills',
    name: 'skill_name',
    columns: [...CALLS, ...OUTPUT],
    totals: [...CALLS, ...OUTPUT],
    expected: expectSkills,
  },
  {
    path: '/tools?view=refused',
    name: 'tool',
    columns: DENIALS,
    totals: DENIALS,
    expected: expectDenials,
  },
  {
    path: '/subagents',
    name: 'subagent_type',
    columns: [SUBAGENT_COST, ['mean_cost_usd', 'money'], ...SUBAGENTS],
    totals: [SUBAGENT_COST, ...SUBAGENTS],
    expected: expectSubagents,
  },
  {
    path: '/projects?view=agent',
    name: 'agent',
    columns: usageColumns('own.'),
    totals: usageColumns('own.'),
    expected: by(expectUsage, 'agent'),
  },
];
