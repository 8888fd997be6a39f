import type { BillVendor } from '@recount/core';

// Lists of choices, separate from the schemas so that command lines can show them without loading those.

export const SEARCH_MODES = ['text', 'substring'] as const;
export const SEARCH_SORTS = ['relevance', 'newest'] as const;
export const SEARCH_KINDS = [
  'prompt',
  'answer',
  'thinking',
  'tool_input',
  'tool_result',
  'summary',
  'context',
] as const;

const TIMES = ['hour', 'day', 'week', 'month'] as const;
const OF_PEOPLE = ['person', 'team', 'cost_centre'] as const;
const OF_SESSION = ['repository', 'project', 'git_branch', 'agent', 'agent_version', ...OF_PEOPLE, 'machine'] as const;
export const SESSION_KEYS = [...TIMES, ...OF_SESSION] as const;
export const EVENT_KEYS = [...SESSION_KEYS, 'session'] as const;
export const USAGE_KEYS = [...TIMES, 'model', ...OF_SESSION, 'kind_of_work', 'session'] as const;
export const CALL_KEYS = [...TIMES, 'model', ...OF_SESSION, 'session', 'tool', 'tool_kind'] as const;
/** All keys that reports can be grouped by. Each report accepts some of the keys. */
export const GROUP_KEYS = [...USAGE_KEYS, 'tool', 'tool_kind'] as const;
export type GroupKey = (typeof GROUP_KEYS)[number];

export const EXPORT_DATASETS = ['usage', 'messages', 'sessions'] as const;
export const EXPORT_FORMATS = ['csv', 'ndjson', 'parquet'] as const;
/** Formats of the document that shows a session. */
export const DOCUMENT_FORMATS = ['html', 'markdown', 'json'] as const;
export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number];

export const TRANSCRIPT_STATUSES = ['queued', 'processing', 'ingested', 'superseded', 'failed'] as const;
export const LIVE_STREAM_STATES = ['open', 'closing', 'closed'] as const;
export const REDACTION_MODES = ['off', 'rows', 'rows-and-raw'] as const;
export const PEOPLE_SOURCES = ['manual', 'csv', 'claim'] as const;
export const MAINTENANCE_CHECKS = ['doctor', 'verify'] as const;
export const REPRICE_STATES = ['queued', 'running', 'done', 'failed', 'interrupted', 'cancelled'] as const;

export const SUBAGENT_FILTERS = ['include', 'exclude', 'only'] as const;

export const FINDING_KINDS = [
  'repeated-call',
  'repeated-error',
  'repeated-read',
  'large-result',
  'cold-cache',
  'unfinished-session',
  'expensive-session',
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** Their names on pages. */
export const FINDING_LABELS: Readonly<Record<FindingKind, string>> = {
  'repeated-call': 'Repeated calls',
  'repeated-error': 'Repeated errors',
  'repeated-read': 'Re-read files',
  'large-result': 'Oversized tool output',
  'cold-cache': 'Cache expired',
  'unfinished-session': 'Unfinished sessions',
  'expensive-session': 'Expensive sessions',
};

/** Findings about single responses, which add up to potential waste; the cost of other kinds is a whole session's. */
export const WASTE_KINDS = ['repeated-call', 'repeated-error', 'repeated-read', 'cold-cache'] as const;
export type WasteKind = (typeof WASTE_KINDS)[number];

/** Subjects that findings can be dismissed for. */
export const DISMISSAL_SUBJECTS = ['session', 'repository', 'person', 'tool'] as const;
export type DismissalSubject = (typeof DISMISSAL_SUBJECTS)[number];

/** Kinds of findings that are about no tool. */
export const KINDS_WITHOUT_TOOL: readonly FindingKind[] = ['cold-cache', 'expensive-session'];

/** Which findings are listed, by whether they are dismissed. */
export const DISMISSED_FILTERS = ['exclude', 'include', 'only'] as const;

/** Results of comparing the share of the cost in the weeks before and after a day. */
export const WEEK_OUTCOMES = ['fell', 'rose', 'unclear', 'too-early', 'too-little-data'] as const;
export type WeekOutcome = (typeof WEEK_OUTCOMES)[number];

/** The kinds of turns in a conversation. */
export const TURN_KINDS = ['prompt', 'answer', 'context', 'system'] as const;

/** Days of history that a forecast needs, and the most that it uses. */
export const FORECAST_DAYS = { least: 14, most: 28 } as const;

export const BUDGET_PERIODS = ['day', 'week', 'month'] as const;
export const BUDGET_UNITS = ['usd', 'tokens'] as const;
export const CROSSING_KINDS = ['threshold', 'forecast', 'anomaly'] as const;
/** Percent of a budget that it warns at if nothing else is chosen. */
export const DEFAULT_THRESHOLDS = [50, 80, 100] as const;
export const DEFAULT_ANOMALY_FACTOR = 3;
/**
 * A day is compared with the median of the days with use among the `most` before it, if there are at least `least`. Days
 * below `leastShare` of the budget's amount, and those before the `checked` latest, are not looked at.
 */
export const ANOMALY_DAYS = { least: 7, most: 28, checked: 7, leastShare: 0.01 } as const;

export const DIGEST_PERIODS = ['week', 'month'] as const;
export const DESTINATION_KINDS = ['slack', 'webhook', 'email'] as const;
export const DELIVERY_EVENTS = ['budget.crossed', 'digest.due', 'test'] as const;
export const DELIVERY_STATES = ['waiting', 'sent', 'failed'] as const;

/** Vendors whose usage and cost reports are read. */
export const BILL_VENDORS = ['anthropic', 'openai', 'github', 'cursor'] as const satisfies readonly BillVendor[];
