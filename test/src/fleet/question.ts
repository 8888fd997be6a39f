import type { SessionFact } from './facts.ts';

export type Key =
  | 'hour'
  | 'day'
  | 'week'
  | 'month'
  | 'model'
  | 'project'
  | 'git_branch'
  | 'agent'
  | 'agent_version'
  | 'session'
  | 'tool';

/** A report's parameters, with times as moments. */
export interface Question {
  timeZone: string;
  groupBy: readonly Key[];
  fromMs?: number;
  toMs?: number;
  project?: string;
  branch?: string;
  model?: string;
  sessionId?: string;
  subagents?: 'include' | 'exclude' | 'only';
}

/** Something that can be filtered and grouped. */
export interface Item {
  atMs: number;
  session: SessionFact;
  isSubagent: boolean;
  branch: string;
  version: string;
  model?: string | null;
  tool?: string;
}

export const AGENT = 'claude-code';

function passes(question: Question, item: Item): boolean {
  const { fromMs, toMs, project, branch, model, sessionId, subagents = 'include' } = question;
  return (
    (fromMs === undefined || item.atMs >= fromMs) &&
    (toMs === undefined || item.atMs < toMs) &&
    (project === undefined || item.session.project === project) &&
    (branch === undefined || item.branch === branch) &&
    (model === undefined || item.model === model) &&
    (sessionId === undefined || item.session.id === sessionId) &&
    (subagents === 'include' || item.isSubagent === (subagents === 'only'))
  );
}

type GroupValues = Record<string, string | null>;

export interface Group<Of> {
  values: GroupValues;
  items: Of[];
}

/** The items that pass, grouped by the requested keys and `moreKeys`; by name of the keys' values. */
export function groupItems<Of extends Item>(
  question: Question,
  items: readonly Of[],
  moreKeys: (item: Of) => GroupValues = () => ({}),
): Map<string, Group<Of>> {
  const groups = new Map<string, Group<Of>>();
  for (const item of items) {
    if (!passes(question, item)) continue;
    const keys = question.groupBy.map((key) => [key, toKeyValue(key, item, question.timeZone)] as const);
    const values = { ...Object.fromEntries(keys), ...moreKeys(item) };
    const name = JSON.stringify(values);
    const group = groups.get(name) ?? { values, items: [] };
    groups.set(name, group);
    group.items.push(item);
  }
  return groups;
}

function toKeyValue(key: Key, item: Item, timeZone: string): string | null {
  switch (key) {
    case 'model':
      return item.model ?? null;
    case 'project':
      return item.session.project;
    case 'git_branch':
      return item.branch;
    case 'agent':
      return AGENT;
    case 'agent_version':
      return item.version;
    case 'session':
      return item.session.id;
    case 'tool':
      return item.tool ?? null;
    default:
      return toTimeKey(key, item.atMs, timeZone);
  }
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Local clock time of a zone, expressed as if it were UTC; from the runtime's calendar, not the database's. */
function toLocalMs(atMs: number, timeZone: string): number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  return Date.parse(`${format.format(atMs).replace(' ', 'T')}Z`) + (atMs % 1000);
}

function toTimeKey(key: 'hour' | 'day' | 'week' | 'month', atMs: number, timeZone: string): string {
  const local = new Date(toLocalMs(atMs, timeZone));
  const date = local.toISOString().slice(0, 10);
  if (key === 'day') return date;
  if (key === 'month') return date.slice(0, 7);
  if (key === 'week') {
    const daysSinceMonday = (local.getUTCDay() + 6) % 7;
    return new Date(Date.parse(date) - daysSinceMonday * DAY_MS).toISOString().slice(0, 10);
  }
  const offsetMinutes = Math.round((local.getTime() - atMs) / MINUTE_MS);
  const pad = (number: number): string => String(number).padStart(2, '0');
  const offset = `${offsetMinutes < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(offsetMinutes) / 60))}:${pad(Math.abs(offsetMinutes) % 60)}`;
  return `${local.toISOString().slice(0, 13)}:00:00${offset}`;
}

/** The smallest value that this fraction of the values does not exceed. */
export function toPercentile(values: readonly number[], fraction: number): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(fraction * sorted.length) - 1)] ?? null;
}

export const sum = <Of>(items: Iterable<Of>, toNumber: (item: Of) => number): number =>
  [...items].reduce((total, item) => total + toNumber(item), 0);

export const countDistinct = <Of>(items: Iterable<Of>, toValue: (item: Of) => unknown): number =>
  new Set([...items].map(toValue)).size;
