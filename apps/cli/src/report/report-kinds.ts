import { CALL_KEYS, EVENT_KEYS, SESSION_KEYS, USAGE_KEYS } from '@recount/contract/choices';
import {
  callColumns,
  cost,
  count,
  duration,
  durationColumns,
  outputColumns,
  type ReportColumn,
  ratio,
  text,
  time,
  usageColumns,
} from './report-columns.ts';

export interface ReportKind {
  name: string;
  /** Another name for it. */
  alias?: string;
  description: string;
  /** Below /v1/analytics. */
  route: string;
  title: string;
  /** Columns after those of the groups. */
  columns: readonly ReportColumn[];
  /** `keys`: what it can be grouped by; in a report by time, in addition to the time. */
  groupBy?: { keys: readonly string[]; fallback: string; isByTime?: boolean };
  /** Whether rows may be split by model. */
  hasBreakdown?: boolean;
}

const byTime = (name: string, key: string): ReportKind => ({
  name,
  alias: key,
  description: `Tokens and cost by ${key}`,
  route: 'usage',
  title: `Usage by ${key}`,
  columns: usageColumns('own.'),
  groupBy: { keys: USAGE_KEYS.filter((each) => each !== key), fallback: key, isByTime: true },
  hasBreakdown: true,
});

/** All reports of `recount report`. */
export const REPORT_KINDS: readonly ReportKind[] = [
  {
    name: 'usage',
    description: 'Tokens and cost, grouped by --group-by',
    route: 'usage',
    title: 'Usage',
    columns: [...usageColumns('own.'), count('SHARED', 'shared.responses', 0)],
    groupBy: { keys: USAGE_KEYS, fallback: 'project' },
  },
  byTime('daily', 'day'),
  byTime('weekly', 'week'),
  byTime('monthly', 'month'),
  {
    name: 'sessions',
    description: 'Number, duration and cost of sessions; the most expensive',
    route: 'sessions',
    title: 'Sessions',
    columns: [
      count('SESSIONS', 'sessions'),
      count('PROMPTS', 'prompts', 6),
      count('TURNS', 'turns', 4),
      count('MESSAGES', 'messages', 2),
      count('TOOL USES', 'tool_uses', 1),
      duration('DURATION', 'duration_ms', 3),
      duration('ACTIVE', 'active_ms', 7),
      { ...cost('own_cost_usd', 'OWN COST'), rank: 5 },
      cost('cost_usd'),
      count('UNPRICED', 'unpriced_responses', 0),
    ],
    groupBy: { keys: SESSION_KEYS, fallback: '' },
  },
  {
    name: 'tools',
    description: 'Tool calls, errors, denials, durations, sizes',
    route: 'tools',
    title: 'Tool calls',
    columns: [...callColumns, ...durationColumns, ...outputColumns, count('SESSIONS', 'sessions', 1)],
    groupBy: { keys: CALL_KEYS, fallback: 'tool' },
  },
  {
    name: 'files',
    description: 'Files read and edited most',
    route: 'files',
    title: 'Files',
    columns: [
      { ...text('FILE', 'file_path'), format: 'path', minWidth: 24 },
      count('READS', 'reads'),
      count('EDITS', 'edits'),
      count('ERRORS', 'errors', 3),
      count('SESSIONS', 'sessions', 4),
      ...outputColumns,
      text('PROJECT', 'project', 1),
    ],
  },
  {
    name: 'programs',
    description: 'Shell commands by program',
    route: 'programs',
    title: 'Shell commands by program',
    columns: [text('PROGRAM', 'program'), ...callColumns, ...durationColumns, ...outputColumns],
  },
  {
    name: 'mcp',
    description: 'Calls to MCP servers',
    route: 'mcp-servers',
    title: 'MCP servers',
    columns: [
      text('SERVER', 'mcp_server'),
      { ...count('TOOLS', 'tools', 5), isOfRowsOnly: true },
      ...callColumns,
      ...outputColumns,
      count('SESSIONS', 'sessions', 1),
    ],
  },
  {
    name: 'subagents',
    description: 'Sub-agents by type, with their cost',
    route: 'subagents',
    title: 'Sub-agents by type',
    columns: [
      text('TYPE', 'subagent_type'),
      count('CALLS', 'calls'),
      count('ERRORS', 'errors', 4),
      count('PARENTS', 'parents', 5),
      count('SUB-AGENTS', 'subagents', 6),
      ...usageColumns().filter(({ header }) => header !== 'RESPONSES'),
      { ...cost('mean_cost_usd', 'MEAN COST'), isOfRowsOnly: true, rank: 7 },
    ],
    groupBy: { keys: EVENT_KEYS, fallback: '' },
  },
  {
    name: 'skills',
    description: 'Skills that were loaded',
    route: 'skills',
    title: 'Skills',
    columns: [text('SKILL', 'skill_name'), ...callColumns, ...outputColumns, count('SESSIONS', 'sessions', 1)],
  },
  {
    name: 'compactions',
    description: 'Compactions of the context',
    route: 'compactions',
    title: 'Compactions',
    columns: [
      text('TRIGGER', 'trigger'),
      count('COMPACTIONS', 'compactions'),
      count('SESSIONS', 'sessions'),
      count('TOKENS BEFORE, MEDIAN', 'pre_tokens_p50', 2),
      count('MOST', 'pre_tokens_max', 1),
    ],
    groupBy: { keys: EVENT_KEYS, fallback: '' },
  },
  {
    name: 'errors',
    description: 'Errors of the model’s API, and retries',
    route: 'api-errors',
    title: 'API errors and retries',
    columns: [
      text('ERROR', 'error'),
      count('ERRORS', 'errors'),
      count('RETRIES', 'retries'),
      count('SESSIONS', 'sessions'),
      duration('WAITED', 'retry_wait_ms', 1),
    ],
    groupBy: { keys: EVENT_KEYS, fallback: '' },
  },
  {
    name: 'denials',
    description: 'Denied tool calls',
    route: 'permission-denials',
    title: 'Refused tool calls',
    columns: [
      text('TOOL', 'tool'),
      text('PROGRAM', 'program', 2),
      count('DENIED', 'denied'),
      count('CALLS', 'calls'),
      ratio('RATE', 'denial_rate'),
      count('SESSIONS', 'sessions', 1),
    ],
  },
  {
    name: 'prs',
    description: 'Pull requests, with the cost of their sessions',
    route: 'pull-requests',
    title: 'Pull requests',
    columns: [
      { ...text('PULL REQUEST', 'url'), format: 'path', minWidth: 30 },
      time('LINKED', 'first_linked', 1),
      count('SESSIONS', 'sessions', 3),
      count('RESPONSES', 'responses', 2),
      count('TOKENS', 'total_tokens', 4),
      cost('cost_usd'),
    ],
  },
  {
    name: 'findings',
    description: 'Potential waste: repeats, large results, expired caches, …',
    route: 'findings',
    title: 'Findings',
    columns: [
      { ...text('FINDING', 'kind'), minWidth: 18 },
      text('TOOL', 'tool', 5),
      { ...text('ABOUT', 'subject', 6), format: 'path' },
      { ...text('SESSION', 'session_id', 8), minWidth: 12 },
      { ...count('LINE', 'line_number', 4), isOfRowsOnly: true },
      { ...count('TIMES', 'times', 7), isOfRowsOnly: true },
      { ...duration('PAUSE', 'pause_ms', 1), isOfRowsOnly: true },
      { ...count('TOKENS', 'tokens', 2), isOfRowsOnly: true },
      { ...count('≈ TOKENS', 'estimated_tokens', 3), isOfRowsOnly: true },
      { ...cost('cost_usd'), format: 'amount', isOfRowsOnly: true },
    ],
  },
  {
    name: 'model-choice',
    description: 'What a cheaper model in use would have cost',
    route: 'model-choice',
    title: 'Models and the next cheaper one in use',
    columns: [
      { ...text('MODEL', 'model'), minWidth: 22 },
      { ...text('CHEAPER', 'cheaper_model'), minWidth: 22 },
      { ...count('SESSIONS', 'sessions', 1), isOfRowsOnly: true },
      count('RESPONSES', 'responses', 2),
      count('TOKENS', 'total_tokens', 3),
      cost('cost_usd'),
      { ...cost('cheaper_cost_usd', 'ON CHEAPER'), format: 'amount' },
    ],
  },
  {
    name: 'blocks',
    description: 'Five-hour blocks, the provider’s rate-limit window',
    route: 'blocks',
    title: 'Five-hour blocks',
    columns: [time('START', 'start'), text('MODELS', 'models', 7), ...usageColumns()],
  },
  {
    name: 'reconciliation',
    description: 'Costs compared with the agent’s own reports',
    route: 'reconciliation',
    title: 'Our costs compared with the agent’s own',
    columns: [
      text('SESSION', 'session_id'),
      text('TITLE', 'title', 1),
      time('BEGAN', 'first_timestamp', 2),
      cost('reported_cost_usd', 'REPORTED'),
      cost('computed_cost_usd', 'COMPUTED'),
      cost('difference_usd', 'DIFFERENCE'),
      ratio('OFF BY', 'difference_ratio', 5),
      count('UNFINALISED', 'unfinalised_responses', 4),
      count('UNPRICED', 'unpriced_responses', 3),
    ],
  },
  {
    name: 'disagreements',
    description: 'Copies of a response that disagree, and who uploaded them',
    route: 'disagreements',
    title: 'Copies of responses that disagree',
    columns: [
      { ...text('RESPONSE', 'response_id'), minWidth: 14 },
      text('ABOUT', 'disagreements', 9),
      { ...text('TRANSCRIPT', 'transcript_id'), minWidth: 26 },
      { ...count('LINE', 'line_number'), isOfRowsOnly: true },
      { ...text('UPLOADER', 'uploader_key_id', 8), minWidth: 26 },
      text('SESSION', 'session_id', 2),
      text('CREDITED', 'is_credited', 4),
      text('COUNTS', 'has_figures', 5),
      text('MODEL', 'model', 6),
      time('TIME', 'timestamp', 3),
      { ...count('OUTPUT', 'tokens_out', 7), isOfRowsOnly: true },
      cost('cost_usd'),
    ],
  },
  {
    name: 'models',
    description: 'Models in use, and those without a price',
    route: 'models',
    title: 'Models',
    columns: [{ ...text('MODEL', 'model'), minWidth: 26 }, ...usageColumns(), count('SESSIONS', 'sessions', 2)],
  },
];
