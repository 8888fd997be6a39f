import type { Command } from 'commander';
import { UsageError } from './cli-error.ts';

export const TIME_ZONE_HELP = 'time zone of dates and times, such as Europe/Berlin; default: the zone of this machine';

/** The options of `addTimeZoneOptions`. */
export interface TimeZoneOptions {
  tz?: string;
  utc?: boolean;
}

/** Adds --tz and --utc. */
export function addTimeZoneOptions(command: Command): Command {
  return command.option('--tz <zone>', TIME_ZONE_HELP).option('--utc', 'the same as --tz UTC');
}

/** The time zone of a command's input and output: `--tz`, `--utc`, or else the machine's. */
export function toTimeZone({ tz, utc }: TimeZoneOptions): string {
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
