import { resolve } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../terminal/cli-error.ts';
import { RANGE_EXAMPLES, toTimeRange } from './time-range.ts';

/** Options that all reports and exports have. */
export interface FilterOptions {
  from?: string;
  to?: string;
  in?: string[];
  tz?: string;
  utc?: boolean;
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

/** The query of a report or an export. Throws UsageError for options that exclude each other. */
export function toFilterQuery(
  options: FilterOptions,
  place: { workingDirectory: string; nowMs?: number },
): ReportQuery {
  const { agent, branch, machine, person, model, session, onlySubagents = false, subagents } = options;
  if (onlySubagents && !subagents) throw new UsageError('--only-subagents and --no-subagents exclude each other.');
  const timeZone = toTimeZone(options);
  const { from, to } = toTimeRange(options, timeZone, place.nowMs ?? Date.now());
  return {
    from,
    to,
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

/** The time zone of a command's input and output: `--tz`, `--utc`, or else the machine's. */
export function toTimeZone({ tz, utc }: { tz?: string; utc?: boolean }): string {
  if (utc) return 'UTC';
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  if (tz !== undefined) return checkTimeZone(tz);
  // The zone's name on a machine set to GMT.
  return timeZone === '+00:00' ? 'UTC' : timeZone;
}

function checkTimeZone(timeZone: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }) && timeZone;
  } catch {
    throw new UsageError(`${timeZone} is not a time zone, such as Europe/Berlin.`);
  }
}

/** Relative paths such as `.` start in the user's directory. */
export function toProject(project: string | undefined, workingDirectory: string): string | undefined {
  return project !== undefined && /^\.{1,2}(\/|$)/.test(project) ? resolve(workingDirectory, project) : project;
}

/** Adds the options for filters, the time zone, and the source of the answer. */
export function addFilterOptions(command: Command): Command {
  return addPlaceOptions(
    addTimeZoneOptions(
      command
        .option('--in <time...>', `only this time: ${RANGE_EXAMPLES}`)
        .option('--from <date>', 'from this date or moment on: 2026-03-01, 2026-03-01T12:00Z, 7d, last month')
        .option('--to <date>', 'before this date or moment; 2026-03 and yesterday are included'),
    )
      .option('--agent <name>', 'agent, such as claude-code')
      .option(
        '--project <path>',
        'working directory, or any part of its path that only one project has; . is the current one',
      )
      .option('--branch <name>', 'git branch')
      .option('--machine <name>', 'machine where the agent ran')
      .option('--person <name>', 'whose transcripts they are')
      .option('--model <name>', 'model, or a part of its name')
      .option('--session <id>', 'session, or the beginning of its id')
      .option('--no-subagents', 'leave out sub-agents')
      .option('--only-subagents', 'only sub-agents'),
  );
}

export const TIME_ZONE_HELP = 'time zone of dates and times, such as Europe/Berlin; default: the zone of this machine';

export function addTimeZoneOptions(command: Command): Command {
  return command.option('--tz <zone>', TIME_ZONE_HELP).option('--utc', 'the same as --tz UTC');
}

export function addPlaceOptions(command: Command): Command {
  return command
    .option('--server <url>', 'API to ask; default RECOUNT_SERVER, or the local installation')
    .option('--key <key>', 'API key; better set RECOUNT_API_KEY, which other users of the machine cannot see')
    .option('--workspace <name>', 'workspace, with DATABASE_URL; a key has its own', 'default');
}
