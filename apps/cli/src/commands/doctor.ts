import type { DoctorCounts, Finding, RebuildFinding, RebuildProgress } from '@recount/ingest';
import { Command, Option } from 'commander';
import type { OpenInstallation } from '../connection/open-installation.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { formatBytes, formatCount, formatCountOf, formatDuration } from '../terminal/format-values.ts';
import { parseTimeSpan } from '../terminal/option-values.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { createProgressBar, whileShowing } from '../terminal/progress-bar.ts';
import { wrapToWidth } from '../terminal/text-width.ts';
import { describeFinding } from './describe-finding.ts';

interface DoctorCommandOptions {
  checksums?: boolean;
  deep?: boolean;
  fix?: boolean;
  json?: boolean;
  rebuild?: boolean;
  minAge: number;
}

const HOUR_MS = 60 * 60 * 1000;

export function createDoctorCommand(context: CliContext): Command {
  return new Command('doctor')
    .description('Compare raw store, database and queue, and report inconsistencies')
    .option(
      '--fix',
      'ingest orphan objects, give streams their rows back, enqueue lost jobs, delete remains of uploads',
    )
    .option('--rebuild', 'restore workspaces and transcripts from the raw store, then do what --fix does')
    .option('--checksums', 'read every raw object and compare its SHA-256: takes as long as the store takes to read')
    .option('--deep', 'check every table and index of the database for damage (needs the extension amcheck)')
    .addOption(
      new Option(
        '--min-age <span>',
        'skip younger jobs, and younger objects without a row, which may be uploads in progress',
      )
        .argParser(parseTimeSpan)
        .default(HOUR_MS, '1h'),
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Works on DATABASE_URL and RECOUNT_RAW_STORE, else on the local installation, which must be running. Checks the raw
object of every transcript, however recent. Objects without a row, and jobs, are skipped if they are younger than an
hour (--min-age 0m if no upload is in progress). Exits with 1 if something needs attention. Uploading the same file
again (recount upload) replaces a damaged or lost raw object. With --fix it is marked, so that the next recount
backfill of the folder uploads it by itself.

Examples:
  $ recount doctor
  $ recount doctor --fix
  $ recount doctor --rebuild          # after the database was lost, on an empty one that is migrated
  $ recount doctor --checksums --deep`,
    )
    .action((options: DoctorCommandOptions) => examine(context, options));
}

async function examine(context: CliContext, options: DoctorCommandOptions): Promise<void> {
  const { checksums = false, deep = false, rebuild = false, fix = rebuild, json = false, minAge: minAgeMs } = options;
  const { withInstallation } = await import('../connection/open-installation.ts');
  const examination = await withInstallation(context, async (installation, { rawStore: { location } }) => {
    const onFinding = (finding: Finding | RebuildFinding): void => {
      const text = describeFinding(finding, location);
      if (!json) for (const line of wrapToWidth(text, toPrintWidth(context))) print(context, line);
    };
    return await runExamination(context, installation, { checksums, deep, rebuild, fix, minAgeMs, onFinding });
  });
  await printResult(context, { checksums, deep, fix, json, minAgeMs }, examination);
}

interface ExaminationOptions extends Record<'checksums' | 'deep' | 'rebuild' | 'fix', boolean> {
  minAgeMs: number;
  onFinding: (finding: Finding | RebuildFinding) => void;
}

/** Runs all checks, with a bar for their progress that ends before each finding is printed. */
async function runExamination(
  context: CliContext,
  installation: OpenInstallation,
  { checksums, deep, rebuild, fix, minAgeMs, onFinding }: ExaminationOptions,
): Promise<Examination> {
  const [{ findDifferingTimeZones }, { createDoctorCounts, rebuildDatabase, runDoctor }, { toOperator }] =
    await Promise.all([import('@recount/db'), import('@recount/ingest'), import('../connection/operator.ts')]);
  const { stderr } = context;
  const signal = context.listenForInterruption();
  const findings: (Finding | RebuildFinding)[] = [];
  let rebuilt: RebuildProgress | undefined;
  const bar = createProgressBar(stderr);
  const counts = createDoctorCounts();
  const onRead = (): void => {
    const read = { files: counts.checksums, doneBytes: counts.checksumBytes };
    bar.update({ ...read, totalBytes: undefined, remark: 'comparing checksums' });
  };
  const report = (finding: Finding | RebuildFinding): void => {
    findings.push(finding);
    bar.end();
    onFinding(finding);
  };
  const onObject = (progress: RebuildProgress): void => {
    rebuilt = progress;
    const { objects: files, registered, registeredBytes: doneBytes } = progress;
    bar.update({ files, doneBytes, totalBytes: undefined, remark: `${formatCount(registered)} made again` });
  };
  const toProgress = (): string =>
    `${formatCountOf(counts.transcripts, 'transcript')} and ${formatCountOf(counts.objects, 'object')} examined`;
  try {
    const options = { fix, checksums, deep, onRead, minAgeMs, nowMs: Date.now(), actor: toOperator(), signal };
    if (rebuild) for await (const finding of rebuildDatabase(installation, { ...options, onObject })) report(finding);
    await whileShowing(stderr, toProgress, async () => {
      for await (const finding of runDoctor(installation, { ...options, counts })) report(finding);
    });
    const differingTimeZones = await findDifferingTimeZones(installation.database.database, Date.now());
    return { findings, counts, rebuilt, differingTimeZones };
  } finally {
    bar.end();
  }
}

interface Examination {
  findings: readonly (Finding | RebuildFinding)[];
  counts: DoctorCounts;
  rebuilt: RebuildProgress | undefined;
  differingTimeZones: readonly string[];
}

/** Prints all as JSON, or a summary of what is printed already; the exit code is 1 if something needs attention. */
async function printResult(
  context: CliContext,
  {
    checksums,
    deep,
    fix,
    json,
    minAgeMs,
  }: Record<'checksums' | 'deep' | 'fix' | 'json', boolean> & { minAgeMs: number },
  { findings, counts, rebuilt, differingTimeZones }: Examination,
): Promise<void> {
  const { isHarmless, needsAttention } = await import('@recount/ingest');
  if (findings.some(needsAttention)) context.exitCode = 1;
  // A notice disagrees with nothing.
  const disagreements = findings.filter(({ kind }) => kind !== 'notice');
  const needAttention = findings.filter(needsAttention).length;
  if (json) {
    const { skipped, ...checked } = counts;
    const findingCount = disagreements.length;
    return printJson(context, { findings, findingCount, needAttention, rebuilt, differingTimeZones, checked, skipped });
  }
  const isRepairable = (finding: Finding | RebuildFinding): boolean =>
    !finding.fixed && (isHarmless(finding) || finding.kind === 'lost-job');
  const lines = [
    disagreements.length === 0
      ? 'No problems found.'
      : toSummary(disagreements, needAttention, !fix && findings.some(isRepairable)),
    ...(rebuilt === undefined ? [] : [toRebuildSummary(rebuilt)]),
    ...describeCounts(counts, { checksums, minAgeMs }),
    ...describeTimeZones(differingTimeZones),
  ];
  const maxWidth = toPrintWidth({ ...context, stdout: context.stderr });
  for (const line of lines.flatMap((each) => wrapToWidth(each, maxWidth))) note(context, line);
  if (deep && !findings.some(({ kind }) => kind === 'unchecked-database')) {
    note(context, 'All tables and B-tree indexes of the database were read.');
  }
}

/** The checked parts, and the omitted ones with the reason, one line each, for people. */
function describeCounts(
  { skipped, ...checked }: DoctorCounts,
  { checksums, minAgeMs }: { checksums: boolean; minAgeMs: number },
): string[] {
  const looked = [
    formatCountOf(checked.transcripts, 'transcript'),
    formatCountOf(checked.streams, 'stream'),
    formatCountOf(checked.attachments, 'attachment'),
  ];
  const read = `${formatCountOf(checked.checksums, 'raw object')} read, ${formatBytes(checked.checksumBytes)}`;
  const age = formatDuration(minAgeMs);
  const left: [count: number, what: string][] = [
    [skipped.youngObjects, `raw objects without a row, younger than ${age}: their upload may be in progress`],
    [skipped.youngJobs, `jobs of transcripts younger than ${age}: they may be on their way`],
    [skipped.expiredObjects, 'raw objects that retention has deleted'],
    [skipped.streamsWithoutChecksum, 'checksums of streams that an older version stored without one'],
  ];
  return [
    `Checked: ${looked.join(', ')}, ${formatCountOf(checked.objects, 'object')} in the store; ${checksums ? read : 'no checksums (--checksums)'}.`,
    ...left.filter(([count]) => count > 0).map(([count, what]) => `Not checked: ${formatCount(count)} ${what}.`),
  ];
}

const MAX_NAMED_ZONES = 5;

/** No finding, because all figures use Node's rules. */
function describeTimeZones(zones: readonly string[]): string[] {
  if (zones.length === 0) return [];
  const named = zones.slice(0, MAX_NAMED_ZONES).join(', ');
  const others = zones.length > MAX_NAMED_ZONES ? `, and ${formatCount(zones.length - MAX_NAMED_ZONES)} more` : '';
  return [
    `Time zones: PostgreSQL has other rules than Node (${process.versions.tz ?? 'unknown version'}) for ${named}${others}. Reports and \`recount usage\` use Node's; AT TIME ZONE in your own SQL uses PostgreSQL's.`,
  ];
}

function toRebuildSummary({ objects, registered, registeredBytes }: RebuildProgress): string {
  return (
    `${formatCount(registered)} of ${formatCountOf(objects, 'transcript')} in the raw store restored, ` +
    `${formatBytes(registeredBytes)}: workers ingest them now. \`recount verify\` when the queue is empty.`
  );
}

function toSummary(findings: readonly unknown[], seriousCount: number, isRepairable: boolean): string {
  const advice = isRepairable ? ' `recount doctor --fix` repairs some of them.' : '';
  const attention = `${formatCount(seriousCount)} ${seriousCount === 1 ? 'needs' : 'need'} attention`;
  return `${formatCountOf(findings.length, 'finding')}, ${attention}.${advice}`;
}
