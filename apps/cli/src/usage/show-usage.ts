import { styleText } from 'node:util';
import { reportUsage, type UsageKey } from '@recount/usage';
import { toCaveatLines } from '../report/caveat-lines.ts';
import { describeNotice, type Notice } from '../report/describe-notice.ts';
import type { ReportAnswer } from '../report/report-answer.ts';
import { REPORT_KINDS, type ReportKind } from '../report/report-kinds.ts';
import { formatReportTable } from '../report/report-table.ts';
import { type CliContext, print, printJson, printStyled } from '../terminal/cli-context.ts';
import { formatBytes, formatCountOf } from '../terminal/format-values.ts';
import { toTerminalText } from '../terminal/guard-terminal.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { wrapToWidth } from '../terminal/text-width.ts';
import { type ReadLedger, readLedger, toScope } from './read-ledger.ts';
import { rememberStatus } from './remember-status.ts';
import type { Written } from './remembered-report.ts';
import { isRepeatable, recordOutput, rememberOutput } from './repeatable-report.ts';
import { describeEmptyRange, resolveFilter } from './resolve-filter.ts';
import type { RememberedStatus } from './statusline.ts';
import { toUsageAnswer } from './usage-answer.ts';
import type { UsageOptions } from './usage-options.ts';

/** Files without figures that are named. */
const MAX_NOT_READ = 5;

/** Rows of each table in the overview. */
const OVERVIEW: readonly { key: UsageKey; title: string; rows: number; isLatest?: boolean }[] = [
  { key: 'day', title: 'By day', rows: 14, isLatest: true },
  { key: 'model', title: 'By model', rows: 8 },
  { key: 'project', title: 'By project', rows: 8 },
  { key: 'agent', title: 'By agent', rows: 20 },
];

/** `recount usage` */
export async function showUsage(context: CliContext, paths: readonly string[], options: UsageOptions): Promise<void> {
  const { words } = context;
  if (words === undefined || !isRepeatable(context, paths, options)) {
    await printUsage(context, paths, options);
    return;
  }
  const written: Written[] = [];
  const { ledger, status } = await printUsage(recordOutput(context, written), paths, options);
  if (status !== undefined) rememberOutput(context, words, ledger, { written, status });
}

interface PrintedUsage {
  ledger: ReadLedger;
  status: RememberedStatus | undefined;
}

async function printUsage(context: CliContext, paths: readonly string[], options: UsageOptions): Promise<PrintedUsage> {
  const asked = toScope(context, options);
  const ledger = await readLedger(context, paths, options);
  const status = paths.length === 0 && options.cache ? rememberStatus(context, ledger) : undefined;
  await printReport(context, ledger, options, asked);
  return { ledger, status };
}

async function printReport(
  context: CliContext,
  ledger: ReadLedger,
  options: UsageOptions,
  asked: ReturnType<typeof toScope>,
): Promise<void> {
  const scope = { ...asked, filter: resolveFilter(ledger, asked.filter) };
  const answerBy = (keys: readonly UsageKey[], limit?: number): ReportAnswer =>
    toUsageAnswer(reportUsage(ledger, keys, scope.filter, scope.clock), keys, { ...scope, limit });
  const groupBy = options.groupBy ?? (options.json || options.csv || options.breakdown ? ['day' as const] : undefined);
  const answer = answerBy(groupBy ?? ['day'], options.limit);
  const isTable = !options.json && !options.csv;
  const note = answer.rows.length > 0 ? undefined : describeEmptyRange(ledger, scope.filter, scope.clock.timeZone);
  if (isTable && note !== undefined) {
    print(context, note);
    return showDimmed(context, toNotReadLines(ledger));
  }
  if (groupBy === undefined) return showOverview(context, ledger, answerBy);
  const details = options.breakdown ? answerBy([...groupBy, 'model']) : undefined;
  if (options.json) {
    const notices = toDoubts(ledger.files);
    return printJson(context, { ...(details ?? answer), notices, not_read: listNotRead(ledger) });
  }
  if (options.csv) {
    const { toReportCsv } = await import('../report/report-csv.ts');
    context.stdout.write(toReportCsv((details ?? answer).rows));
    return;
  }
  showTable(context, toKind(answer), answer, details);
  showNotes(context, ledger, answer);
}

function showOverview(
  context: CliContext,
  ledger: ReadLedger,
  answerBy: (keys: readonly UsageKey[]) => ReportAnswer,
): void {
  let all: ReportAnswer | undefined;
  for (const { key, title, rows, isLatest = false } of OVERVIEW) {
    const answer = answerBy([key]);
    all ??= answer;
    if (answer.rows.length < 2 && key === 'agent') continue;
    const shown = isLatest ? answer.rows.slice(-rows) : answer.rows.slice(0, rows);
    const hidden = answer.rows.length - shown.length;
    const rest = hidden > 0 ? ` · ${shown.length} of ${answer.rows.length}; --by ${key} shows all` : '';
    printStyled(context, styleText('bold', `${title}${rest}`, { stream: context.stdout }));
    showTable(context, toKind(answer), { ...answer, rows: shown });
    print(context, '');
    if (answer.rows.length === 0) break;
  }
  if (all !== undefined) showNotes(context, ledger, all);
}

const toKind = ({ filters }: ReportAnswer): ReportKind => {
  const [usage] = REPORT_KINDS.filter(({ name }) => name === 'usage');
  if (usage === undefined) throw new TypeError('There is no report usage');
  const hasShared = filters.group_by.some((key) => key === 'session');
  return { ...usage, columns: usage.columns.filter(({ path }) => hasShared || path !== 'shared.responses') };
};

function showTable(context: CliContext, kind: ReportKind, answer: ReportAnswer, details?: ReportAnswer): void {
  for (const { text, style } of formatReportTable(kind, answer, { maxWidth: toPrintWidth(context), details })) {
    const line = toTerminalText(text);
    printStyled(context, style === undefined ? line : styleText(style, line, { stream: context.stdout }));
  }
}

/** Shown below the tables. */
const MAX_DOUBTS = 5;

/** Doubts about the counts, once for each version of an agent; the most frequent first. */
function toDoubts(files: ReadLedger['files']): Notice[] {
  const doubts = new Map<string, Notice>();
  for (const { agent, agentVersion, doubts: found } of files) {
    for (const { message, count } of found) {
      const key = [agent, agentVersion, message].join('\n');
      const known = { agent: agent ?? 'unknown', agentVersion, message, transcriptCount: 0, occurrenceCount: 0 };
      const doubt = doubts.get(key) ?? known;
      doubt.transcriptCount++;
      doubt.occurrenceCount += count;
      doubts.set(key, doubt);
    }
  }
  // Threads deliver files in any order.
  return [...doubts]
    .sort(([key, one], [otherKey, other]) => other.occurrenceCount - one.occurrenceCount || (key < otherKey ? -1 : 1))
    .map(([, doubt]) => doubt);
}

/** Files, and databases with unread parts. */
function listNotRead({ files }: Pick<ReadLedger, 'files'>): { path: string; reason: string | null }[] {
  return files
    .filter(({ status }) => status === 'failed')
    .map(({ path, failure }) => ({ path, reason: failure ?? null }));
}

/** Known inaccuracies of the figures, what was not read, and how to keep it all. */
function showNotes(context: CliContext, { files }: ReadLedger, answer: ReportAnswer): void {
  const read = files.filter(({ status }) => status === 'read');
  const bytes = read.reduce((total, { sizeBytes }) => total + sizeBytes, 0);
  const kind = toKind(answer);
  const lines = toCaveatLines(kind, answer);
  lines.push(...toNotReadLines({ files }));
  const doubts = toDoubts(files);
  for (const doubt of doubts.slice(0, MAX_DOUBTS)) lines.push(`${describeNotice(doubt)}.`);
  if (doubts.length > MAX_DOUBTS) lines.push(`… and ${doubts.length - MAX_DOUBTS} more; --json lists them all.`);
  if (read.length === 0) lines.push('No transcripts were found. Name a folder with recount usage PATH.');
  else
    lines.push(`${formatCountOf(read.length, 'transcript')}, ${formatBytes(bytes)}; each API response counted once.`);
  lines.push(
    'Agents delete their transcripts after some weeks. `recount up` keeps them all, `recount connect` keeps them on a server.',
  );
  showDimmed(context, lines);
}

function toNotReadLines(ledger: Pick<ReadLedger, 'files'>): string[] {
  const all = listNotRead(ledger);
  const shown = all.slice(0, MAX_NOT_READ).map(({ path, reason }) => `Not read: ${path} (${reason}).`);
  const rest = all.length - shown.length;
  return rest === 0 ? shown : [...shown, `Not read: ${formatCountOf(rest, 'more file')}.`];
}

function showDimmed(context: CliContext, lines: readonly string[]): void {
  for (const line of lines.flatMap((each) => wrapToWidth(each, toPrintWidth({ ...context, stdout: context.stderr })))) {
    context.stderr.writeStyled(`${styleText('dim', toTerminalText(line), { stream: context.stderr })}\n`);
  }
}
