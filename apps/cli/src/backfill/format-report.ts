import type { BackfillReport } from '@recount/collect';
import { describeRefusal, type Refusal } from '@recount/core';
import type { SkipReason } from '@recount/storage/sources';
import { formatBytes, formatCount, formatDuration } from '../terminal/format-values.ts';
import { formatTable } from '../terminal/table.ts';

const MAX_SHOWN_FAILURES = 20;
const TABLE_WIDTH = 100;

/** Why a file is not a transcript to ingest, for people. */
const SKIP_REASONS: Readonly<Record<SkipReason, string>> = {
  'not-a-transcript': 'name is not a transcript’s',
  'older-than-since': 'older than --since',
  link: 'symbolic link',
  'not-a-file': 'neither file nor folder',
  'nested-archive': 'archive within an archive',
  'too-deep': 'folders nested too deep',
  'empty-folder': 'empty folder',
  unchanged: 'unchanged since the last run',
};

/** Why an item is not ingested; if its content is the reason, in the API's words. */
export function describeSkip(reason: string): string {
  return SKIP_REASONS[reason as SkipReason] ?? describeRefusal(reason as Refusal);
}

/** True if an item is not ingested because of its content. */
export const isRefusal = (reason: string): boolean => !Object.hasOwn(SKIP_REASONS, reason);

/** True if an item looks like a transcript by its name, and is no text that could be read. */
export const isUnreadable = (reason: string): boolean => ['utf-16', 'utf-32', 'binary'].includes(reason);

/** The final table, with the found files, the outcomes, and the reasons. */
export function formatReport(report: BackfillReport, elapsedMs: number, isDryRun: boolean): string[] {
  const outcomes: [label: string, count: number, isAlwaysShown: boolean][] = isDryRun
    ? [
        ['would be ingested', report.new, true],
        ['already there', report.alreadyThere, true],
      ]
    : [
        ['ingested', report.ingested, true],
        ['beginning of a longer one', report.superseded, false],
        ['already there', report.alreadyThere, true],
        ['stored again, as the stored copy was damaged', report.healed, false],
        ['stored, not yet ingested', report.queued, false],
      ];
  const settled =
    report.queued +
    report.ingested +
    report.superseded +
    report.alreadyThere +
    report.healed +
    report.new +
    report.failed;
  outcomes.push(['interrupted, left for the next run', report.found - settled, false]);
  const skipped = Object.entries(report.skippedByReason).sort(([, a], [, b]) => b - a);
  const rows = [
    ['Transcripts found', formatCount(report.found)],
    ...outcomes
      .filter(([, count, isShown]) => isShown || count > 0)
      .map(([label, count]) => [`  ${label}`, formatCount(count)]),
    ['  failed', formatCount(report.failed)],
    ['Skipped', formatCount(report.skipped)],
    ...skipped.map(([reason, count]) => [`  ${describeSkip(reason)}`, formatCount(count)]),
  ];
  const seconds = Math.max(elapsedMs, 1) / 1000;
  return [
    ...formatTable([{ header: '' }, { header: '', align: 'right' }], rows, TABLE_WIDTH).slice(1),
    `${formatBytes(report.readBytes)} read in ${formatDuration(elapsedMs)}, ${formatBytes(report.readBytes / seconds)}/s`,
    ...(report.unindexed > 0 ? [`Sessions not yet indexed for search: ${formatCount(report.unindexed)}`] : []),
    ...formatFailures(report),
  ];
}

function formatFailures({ failed, failures }: BackfillReport): string[] {
  if (failed === 0) return [];
  const shown = failures.slice(0, MAX_SHOWN_FAILURES).map(({ location, reason }) => `  ${location}: ${reason}`);
  const hidden = failed - shown.length;
  return [
    '',
    'Failed:',
    ...shown,
    ...(hidden > 0 ? [`  and ${formatCount(hidden)} more (--json lists a thousand)`] : []),
  ];
}
