import type { UsageFigures } from '@recount/contract';
import type { Answer, Query, Route } from '../../api/client.ts';
import { SESSIONS_OF_USAGE, toShortModel, toShortPath } from '../../format/values.ts';

export type FigureKind = 'money' | 'tokens' | 'count' | 'percent' | 'duration' | 'bytes';

interface FigureColumn<Row> {
  label: string;
  /** An explanation of the count, if the label is not enough. */
  hint?: string;
  kind: FigureKind;
  value: (row: Row) => number | null | undefined;
}

/** Reports whose rows are shown unchanged. */
type ReportRoute = Extract<Route, `/v1/analytics/${string}`>;
type RowOf<R extends ReportRoute> = Answer<R>['rows'][number];

/** The form of a report on a page, with the subject of its rows, their figures, and a link to their sessions. */
export interface Breakdown<R extends ReportRoute = ReportRoute, Row = RowOf<R>> {
  /** Name in the URL. */
  id: string;
  label: string;
  /** The subject of a row, as the heading of the first column. */
  noun: string;
  route: R;
  query: Query<R>;
  toName: (row: Row) => string | null;
  /** A shorter label for long names. */
  toLabel?: (name: string) => string;
  /** Shown after the name. */
  toDetail?: (row: Row) => string | null | undefined;
  /** Filters of the sessions page that find the sessions of a row. */
  toFilter: (row: Row) => Record<string, string | null | undefined>;
  columns: readonly FigureColumn<Row>[];
  /** The same figures over all rows. */
  totals: readonly FigureColumn<Answer<R>['totals']>[];
  /** The request for the report by days; undefined if that is not possible. */
  trend?: { query: Query<R>; day: (row: Row) => string | null | undefined; column: FigureColumn<Row> };
}

/** Only for type inference. */
const define = <R extends ReportRoute>(breakdown: Breakdown<R>): Breakdown => breakdown as unknown as Breakdown;

const figure =
  (kind: FigureKind) =>
  <Row>(label: string, value: FigureColumn<Row>['value']): FigureColumn<Row> => ({ label, kind, value });
const money = figure('money');
const tokens = figure('tokens');
const count = figure('count');
const percent = figure('percent');
const duration = figure('duration');
const bytes = figure('bytes');

/** Hints to the counts of sessions, which count what their report is about. See docs/accuracy.md#counts-of-sessions. */
const sessionsOfUsage = <Row extends { sessions: number }>(): FigureColumn<Row> => ({
  ...count<Row>('Sessions', (row) => row.sessions),
  hint: SESSIONS_OF_USAGE,
});
const sessionsOfCalls = <Row extends { sessions: number }>(): FigureColumn<Row> => ({
  ...count<Row>('Sessions', (row) => row.sessions),
  hint: 'Sessions that made such a call. A session with calls in several rows is in each row, and once in the total.',
});

const usageOf = <Row>(of: (row: Row) => UsageFigures): FigureColumn<Row>[] => [
  count('Responses', (row) => of(row).responses),
  tokens('Input', (row) => of(row).tokens_in),
  tokens('Output', (row) => of(row).tokens_out),
  tokens('Cache read', (row) => of(row).cache_read),
  tokens('Cache write', (row) => of(row).cache_write),
  percent('Cache hit rate', (row) => of(row).cache_hit_ratio),
  money('Cost', (row) => of(row).cost_usd),
];

interface Calls {
  calls: number;
  errors: number;
  error_rate: number | null;
  denied: number;
  sessions: number;
  output_bytes: number;
  estimated_tokens: number;
}

const callsOf = <Row extends Calls>(): FigureColumn<Row>[] => [
  count('Calls', (row) => row.calls),
  count('Failed', (row) => row.errors),
  percent('Fail rate', (row) => row.error_rate),
  count('Denied', (row) => row.denied),
  sessionsOfCalls(),
];
const outputOf = <Row extends Calls>(): FigureColumn<Row>[] => [
  bytes('Results', (row) => row.output_bytes),
  tokens('≈ Tokens', (row) => row.estimated_tokens),
];
const durationsOf = <Row extends { duration_p50_ms: number | null; duration_p95_ms: number | null }>() => [
  duration<Row>('Median', (row) => row.duration_p50_ms),
  duration<Row>('P95', (row) => row.duration_p95_ms),
];

type UsageKey = 'project' | 'person' | 'machine' | 'agent';

const byUsage = (id: UsageKey, label: string, noun: string): Breakdown =>
  define<'/v1/analytics/usage'>({
    id,
    label,
    noun,
    route: '/v1/analytics/usage',
    query: { group_by: id },
    toName: (row) => row[id] ?? null,
    ...(id === 'project' && { toLabel: toShortPath }),
    toFilter: (row) => ({ [id]: row[id], subagents: 'include' }),
    columns: [sessionsOfUsage(), ...usageOf<RowOf<'/v1/analytics/usage'>>((row) => row.own)],
    totals: [sessionsOfUsage(), ...usageOf<Answer<'/v1/analytics/usage'>['totals']>((row) => row.own)],
    trend: { query: { group_by: 'day' }, day: (row) => row.day, column: money('Cost', (row) => row.own.cost_usd) },
  });

const tools = define<'/v1/analytics/tools'>({
  id: 'tools',
  label: 'Tools',
  noun: 'Tool',
  route: '/v1/analytics/tools',
  query: { group_by: 'tool' },
  toName: ({ tool }) => tool ?? null,
  toFilter: ({ tool }) => ({ tool, subagents: 'include' }),
  columns: [...callsOf<RowOf<'/v1/analytics/tools'>>(), ...durationsOf(), ...outputOf()],
  totals: [...callsOf<Answer<'/v1/analytics/tools'>['totals']>(), ...durationsOf(), ...outputOf()],
  trend: {
    query: { group_by: 'day', percentiles: 'false' },
    day: ({ day }) => day,
    column: count('Calls', ({ calls }) => calls),
  },
});

const programs = define<'/v1/analytics/programs'>({
  id: 'programs',
  label: 'Shell commands',
  noun: 'Program',
  route: '/v1/analytics/programs',
  query: {},
  toName: ({ program }) => program,
  toFilter: ({ program }) => ({ program, subagents: 'include' }),
  columns: [...callsOf<RowOf<'/v1/analytics/programs'>>(), ...durationsOf(), ...outputOf()],
  totals: [...callsOf<Answer<'/v1/analytics/programs'>['totals']>(), ...durationsOf(), ...outputOf()],
});

const mcpServers = define<'/v1/analytics/mcp-servers'>({
  id: 'mcp',
  label: 'MCP servers',
  noun: 'Server',
  route: '/v1/analytics/mcp-servers',
  query: {},
  toName: (row) => row.mcp_server,
  toFilter: (row) => ({ mcp_server: row.mcp_server, subagents: 'include' }),
  columns: [count('Tools', (row) => row.tools), ...callsOf<RowOf<'/v1/analytics/mcp-servers'>>(), ...outputOf()],
  totals: [...callsOf<Answer<'/v1/analytics/mcp-servers'>['totals']>(), ...outputOf()],
});

const skills = define<'/v1/analytics/skills'>({
  id: 'skills',
  label: 'Skills',
  noun: 'Skill',
  route: '/v1/analytics/skills',
  query: {},
  toName: (row) => row.skill_name,
  toFilter: (row) => ({ skill: row.skill_name, subagents: 'include' }),
  columns: [...callsOf<RowOf<'/v1/analytics/skills'>>(), ...outputOf()],
  totals: [...callsOf<Answer<'/v1/analytics/skills'>['totals']>(), ...outputOf()],
});

const denials = define<'/v1/analytics/permission-denials'>({
  id: 'refused',
  label: 'Denied',
  noun: 'Tool',
  route: '/v1/analytics/permission-denials',
  query: {},
  toName: ({ tool }) => tool,
  toDetail: ({ program }) => program,
  toFilter: ({ tool, program }) => ({ tool, program, subagents: 'include' }),
  columns: [
    count('Denied', (row) => row.denied),
    count('Calls', (row) => row.calls),
    percent('Rate', (row) => row.denial_rate),
    sessionsOfCalls(),
  ],
  totals: [
    count('Denied', (row) => row.denied),
    count('Calls', (row) => row.calls),
    percent('Rate', (row) => row.denial_rate),
    sessionsOfCalls(),
  ],
});

const fileColumns = <
  Row extends Omit<RowOf<'/v1/analytics/files'>, 'file_path' | 'project'>,
>(): FigureColumn<Row>[] => [
  count('Calls', (row) => row.calls),
  count('Reads', (row) => row.reads),
  count('Edits', (row) => row.edits),
  count('Failed', (row) => row.errors),
  sessionsOfCalls(),
  bytes('Results', (row) => row.output_bytes),
  tokens('≈ Tokens', (row) => row.estimated_tokens),
];

const files = define<'/v1/analytics/files'>({
  id: 'files',
  label: 'Files',
  noun: 'File',
  route: '/v1/analytics/files',
  query: {},
  toName: (row) => row.file_path,
  toLabel: toShortPath,
  toDetail: ({ project }) => project,
  toFilter: ({ file_path, project }) => ({ file: file_path, project, subagents: 'include' }),
  columns: fileColumns(),
  totals: fileColumns(),
});

const models = define<'/v1/analytics/models'>({
  id: 'models',
  label: 'Models',
  noun: 'Model',
  route: '/v1/analytics/models',
  query: {},
  toName: ({ model }) => model,
  toLabel: toShortModel,
  // Without any price, the cost says so.
  toDetail: (row) => (row.is_priced || row.cost_usd === null ? null : 'partly unpriced'),
  toFilter: ({ model }) => ({ model, subagents: 'include' }),
  columns: [sessionsOfUsage(), ...usageOf<RowOf<'/v1/analytics/models'>>((row) => row)],
  totals: [sessionsOfUsage(), ...usageOf<Answer<'/v1/analytics/models'>['totals']>((row) => row)],
});

const subagentColumns = <Row extends Answer<'/v1/analytics/subagents'>['totals']>(): FigureColumn<Row>[] => [
  count('Calls', (row) => row.calls),
  count('Failed', (row) => row.errors),
  count('Parent sessions', (row) => row.parents),
  count('Sub-agents', (row) => row.subagents),
  tokens('Tokens', (row) => row.total_tokens),
  percent('Cache hit rate', (row) => row.cache_hit_ratio),
  money('Cost', (row) => row.cost_usd),
];

const subagents = define<'/v1/analytics/subagents'>({
  id: 'subagents',
  label: 'Sub-agents',
  noun: 'Type',
  route: '/v1/analytics/subagents',
  query: {},
  toName: (row) => row.subagent_type,
  toFilter: (row) => ({ subagent_type: row.subagent_type, subagents: 'include' }),
  columns: [...subagentColumns<RowOf<'/v1/analytics/subagents'>>(), money('Mean cost', (row) => row.mean_cost_usd)],
  totals: subagentColumns(),
});

/** The breakdowns of each page; the first one is the default. */
export const BREAKDOWNS = {
  tools: [tools, programs, mcpServers, skills, denials],
  files: [files],
  projects: [byUsage('project', 'Projects', 'Project'), byUsage('agent', 'Agents', 'Agent')],
  models: [models],
  subagents: [subagents],
  people: [byUsage('person', 'People', 'Person'), byUsage('machine', 'Machines', 'Machine')],
} satisfies Record<string, readonly Breakdown[]>;
