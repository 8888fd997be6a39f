import { resolve } from 'node:path';
import { KINDS_OF_WORK } from '@recount/core/kinds-of-work';
import type { Command } from 'commander';
import { addPlaceOptions } from '../connection/place-options.ts';
import { UsageError } from '../terminal/cli-error.ts';
import { addTimeZoneOptions, type TimeZoneOptions, toTimeZone } from '../terminal/time-zone.ts';
import { RANGE_EXAMPLES, toTimeRange } from './time-range.ts';

/** Options that all reports and exports have. */
export interface FilterOptions extends TimeZoneOptions {
  from?: string;
  to?: string;
  in?: string[];
  agent?: string[];
  repository?: string[];
  project?: string[];
  branch?: string[];
  machine?: string[];
  person?: string[];
  team?: string[];
  costCentre?: string[];
  kindOfWork?: string[];
  model?: string[];
  session?: string;
  /** False with --no-subagents. */
  subagents: boolean;
  onlySubagents?: boolean;
}

export type ReportQuery = Record<string, string | number | readonly string[] | undefined>;

/** The query of a report or an export. Throws UsageError for options that exclude each other. */
export function toFilterQuery(
  options: FilterOptions,
  place: { workingDirectory: string; nowMs?: number },
): ReportQuery {
  const {
    agent,
    branch,
    machine,
    person,
    team,
    costCentre,
    kindOfWork,
    model,
    session,
    onlySubagents = false,
    subagents,
  } = options;
  if (onlySubagents && !subagents) throw new UsageError('--only-subagents and --no-subagents exclude each other.');
  const timeZone = toTimeZone(options);
  const { from, to } = toTimeRange(options, timeZone, place.nowMs ?? Date.now());
  return {
    from,
    to,
    time_zone: timeZone,
    agent,
    repository: options.repository,
    project: options.project?.map((project) => toProject(project, place.workingDirectory)),
    git_branch: branch,
    machine,
    person,
    team,
    cost_centre: costCentre,
    kind_of_work: kindOfWork,
    model,
    session_id: session,
    subagents: onlySubagents ? 'only' : subagents ? undefined : 'exclude',
  };
}

/** Relative paths such as `.` start in the user's directory. */
export function toProject(project: string, workingDirectory: string): string {
  return /^\.{1,2}(\/|$)/.test(project) ? resolve(workingDirectory, project) : project;
}

export const PROJECT_HELP = 'working directory, or a part of its path, for all that have it; . is the current one';
export const MODEL_HELP = 'model, or a part of its name, for all that have it; like other names, may be repeated';

/** The values of an option that may be repeated. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value];

/** Adds the options for filters, the time zone, and the source of the answer. */
export function addFilterOptions(command: Command): Command {
  return addPlaceOptions(
    addNameFilterOptions(
      addTimeZoneOptions(
        command
          .option('--in <time...>', `only this time: ${RANGE_EXAMPLES}`)
          .option('--from <date>', 'from this date or moment on: 2026-03-01, 2026-03-01T12:00Z, 7d, last month')
          .option('--to <date>', 'before this date or moment; 2026-03 and yesterday are included'),
      ),
    ).option('--session <id>', 'session, or the beginning of its id'),
  );
}

/** Adds the options for filters that are not about time. */
export function addNameFilterOptions(command: Command): Command {
  return command
    .option('--agent <name>', 'agent, such as claude-code', collect)
    .option('--repository <name>', 'repository, or a part of its name', collect)
    .option('--project <path>', PROJECT_HELP, collect)
    .option('--branch <name>', 'git branch', collect)
    .option('--machine <name>', 'machine where the agent ran', collect)
    .option('--person <name>', 'whose transcripts they are, by any name of the person', collect)
    .option('--team <name>', 'team of the person at that time', collect)
    .option('--cost-centre <name>', 'cost centre of the person at that time', collect)
    .option('--kind-of-work <kind>', `kind of work: ${KINDS_OF_WORK.join(', ')}`, collect)
    .option('--model <name>', MODEL_HELP, collect)
    .option('--no-subagents', 'leave out sub-agents')
    .option('--only-subagents', 'only sub-agents');
}
