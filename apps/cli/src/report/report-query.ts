import { resolve } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../cli-error.ts';

/** Options that all reports and exports have. */
export interface FilterOptions {
  from?: string;
  to?: string;
  tz?: string;
  agent?: string;
  project?: string;
  branch?: string;
  machine?: string;
  person?: string;
  model?: string;
  session?: string;
  /** False with --no-subagents. */
  subagents: boolean;
  onlySubagents?: boolean;
}

export type ReportQuery = Record<string, string | number | undefined>;

const UNIT_DAYS: Readonly<Record<string, number>> = { d: 1, w: 7 };
const DAY_MS = 86_400_000;

/** The query of a report or an export. Throws UsageError for what excludes each other. */
export function toFilterQuery(
  options: FilterOptions,
  place: { workingDirectory: string; nowMs?: number },
): ReportQuery {
  const { agent, branch, machine, person, model, session, onlySubagents = false, subagents } = options;
  if (onlySubagents && !subagents) throw new UsageError('--only-subagents and --no-subagents exclude each other.');
  const timeZone = options.tz ?? toZoneName(new Intl.DateTimeFormat().resolvedOptions().timeZone);
  const toMoment = (text: string | undefined) => toReportMoment(text, timeZone, place.nowMs ?? Date.now());
  return {
    from: toMoment(options.from),
    to: toMoment(options.to),
    time_zone: timeZone,
    agent,
    project: toProject(options.project, place.workingDirectory),
    git_branch: branch,
    machine,
    person,
    model,
    session_id: session,
    subagents: onlySubagents ? 'only' : subagents ? undefined : 'exclude',
  };
}

/** Where a machine's clock is on GMT, its zone is called so. */
const toZoneName = (timeZone: string): string => (timeZone === '+00:00' ? 'UTC' : timeZone);

/** `7d` and `2w` are the date of so many days ago in the time zone; everything else is for the API to read. */
export function toReportMoment(text: string | undefined, timeZone: string, nowMs: number): string | undefined {
  const [, amount, unit = ''] = /^(\d{1,4})([dw])$/.exec(text ?? '') ?? [];
  if (amount === undefined) return text;
  let today: Intl.DateTimeFormat;
  try {
    today = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' });
  } catch {
    throw new UsageError(`${timeZone} is no time zone, such as Europe/Berlin.`);
  }
  const midnightMs = Date.parse(`${today.format(new Date(nowMs))}T00:00:00Z`);
  return new Date(midnightMs - Number(amount) * (UNIT_DAYS[unit] ?? 0) * DAY_MS).toISOString().slice(0, 10);
}

/** `.` and other relative paths start where the user is. */
function toProject(project: string | undefined, workingDirectory: string): string | undefined {
  return project !== undefined && /^\.{1,2}(\/|$)/.test(project) ? resolve(workingDirectory, project) : project;
}

/** Adds the filters, and where the answer is to come from. */
export function addFilterOptions(command: Command): Command {
  return command
    .option('--from <date>', 'from this date or moment on: 2026-03-01, 2026-03-01T12:00Z, 7d, 4w')
    .option('--to <date>', 'before this date or moment')
    .option('--tz <zone>', 'time zone of dates and days, such as Europe/Berlin; default: that of this machine')
    .option('--agent <name>', 'agent, such as claude-code')
    .option('--project <path>', 'working directory of the sessions; . is the one here')
    .option('--branch <name>', 'git branch')
    .option('--model <name>', 'model')
    .option('--person <name>', 'whose sessions')
    .option('--machine <name>', 'machine that the sessions ran on')
    .option('--session <id>', 'session')
    .option('--no-subagents', 'leave out what sub-agents did')
    .option('--only-subagents', 'only what sub-agents did')
    .option('--server <url>', 'API to ask; default RECOUNT_SERVER, or the local installation')
    .option('--key <key>', 'API key; better in RECOUNT_API_KEY, where other users of the machine do not see it')
    .option('--workspace <name>', 'workspace, with DATABASE_URL; a key has its own', 'default');
}
