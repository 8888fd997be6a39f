import type { Finding } from '@recount/ingest';
import { Command } from 'commander';
import { type CliContext, note, print } from '../cli-context.ts';
import { parseTimeSpan } from '../option-values.ts';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { createProgressBar } from '../terminal/progress-bar.ts';

interface DoctorCommandOptions {
  checksums?: boolean;
  fix?: boolean;
  json?: boolean;
  minAge: number;
}

const HOUR_MS = 60 * 60 * 1000;

export function createDoctorCommand(context: CliContext): Command {
  return new Command('doctor')
    .description('Compare raw store, database and queue, and say what does not fit')
    .option(
      '--fix',
      'ingest orphan objects, give streams their rows back, enqueue lost jobs, delete remains of uploads',
    )
    .option('--checksums', 'read every raw object and compare its SHA-256: takes as long as the store takes to read')
    .option(
      '--min-age <span>',
      'leave alone what is younger: it may belong to an upload under way',
      parseTimeSpan,
      HOUR_MS,
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Works on DATABASE_URL and RECOUNT_RAW_STORE, else on the local installation, which must be running. Leaves alone
what is younger than an hour (--min-age 0m where no upload is under way). Ends with 1 where something needs attention.

Examples:
  $ recount doctor
  $ recount doctor --fix
  $ recount doctor --checksums`,
    )
    .action((options: DoctorCommandOptions) => examine(context, options));
}

async function examine(
  context: CliContext,
  { checksums = false, fix = false, json = false, minAge: minAgeMs }: DoctorCommandOptions,
): Promise<void> {
  const [{ runDoctor }, { findInstallationConfig, openInstallation }] = await Promise.all([
    import('@recount/ingest'),
    import('../connection/open-installation.ts'),
  ]);
  const signal = context.listenForInterruption();
  const installation = await openInstallation(await findInstallationConfig(context));
  const findings: Finding[] = [];
  const bar = createProgressBar(context.stderr);
  const read = { files: 0, doneBytes: 0 };
  const onRead = (sizeBytes: number): void => {
    read.files += 1;
    read.doneBytes += sizeBytes;
    bar.update({ ...read, totalBytes: undefined, remark: 'comparing checksums' });
  };
  try {
    const options = { fix, checksums, onRead, minAgeMs, nowMs: Date.now(), signal };
    for await (const finding of runDoctor(installation, options)) {
      findings.push(finding);
      bar.end();
      if (!json) print(context, describeFinding(finding));
    }
  } finally {
    bar.end();
    await installation.close();
  }
  const serious = findings.filter(isSerious);
  if (serious.length > 0) context.exitCode = 1;
  if (json) print(context, JSON.stringify({ findings, needAttention: serious.length }, null, 2));
  else note(context, findings.length === 0 ? 'Everything fits together.' : toSummary(findings, serious.length, fix));
  if (checksums && !json) note(context, `${formatCount(read.files)} raw objects read, ${formatBytes(read.doneBytes)}.`);
}

/** An orphan object takes up room, and what search lacks it gets in time, where it does not fail. */
export function isSerious(finding: Finding): boolean {
  if (finding.kind === 'search-behind') return finding.failingSessions > 0;
  return !finding.fixed && !isOrphan(finding);
}

const isOrphan = ({ kind }: Finding): boolean => kind === 'orphan-object' || kind === 'orphan-stream';

function toSummary(findings: readonly Finding[], seriousCount: number, fix: boolean): string {
  const isFixable = findings.some((finding) => !finding.fixed && (isOrphan(finding) || finding.kind === 'lost-job'));
  const advice = isFixable && !fix ? ' `recount doctor --fix` mends some of it.' : '';
  return `${findings.length} findings, ${seriousCount} of which need attention.${advice}`;
}

/** One line for people. */
export function describeFinding(finding: Finding): string {
  switch (finding.kind) {
    case 'orphan-object':
      return `orphan object ${finding.objectKey}, ${formatBytes(finding.sizeBytes)}: ${finding.fixed ? 'received as an upload' : 'no transcript names it'}`;
    case 'missing-object':
      return `missing object ${finding.objectKey} of transcript ${finding.transcriptId}: its bytes are lost, or RECOUNT_RAW_STORE names another store`;
    case 'wrong-size':
      return `transcript ${finding.transcriptId}: its object has ${finding.sizeBytes} bytes, which is not what was uploaded`;
    case 'wrong-content':
      return `transcript ${finding.transcriptId}: the bytes of its object ${finding.objectKey} have changed since they were stored: put a backup in its place, or delete it and upload the file again`;
    case 'unreadable-object':
      return `transcript ${finding.transcriptId}: its object ${finding.objectKey} cannot be read to its end; where it stays so, put a backup in its place, or delete it and upload the file again`;
    case 'lost-job':
      return `transcript ${finding.transcriptId} waits for a job that is not in the queue${finding.fixed ? ': enqueued again' : ''}`;
    case 'failed-transcript':
      return `transcript ${finding.transcriptId} was given up: \`recount requeue ${finding.transcriptId}\` tries again`;
    case 'orphan-stream':
      return `orphan stream ${finding.objectKey}, ${formatBytes(finding.sizeBytes)}: ${finding.fixed ? 'has its row again' : 'no stream names it'}`;
    case 'missing-stream':
      return `missing object ${finding.objectKey} of stream ${finding.streamId}: its bytes are lost, or RECOUNT_RAW_STORE names another store`;
    case 'wrong-stream-size':
      return `stream ${finding.streamId}: its object has ${finding.sizeBytes} bytes, which is not what was sent`;
    case 'search-behind':
      return `search: ${finding.waitingSessions} sessions wait to be indexed, after a failure ${finding.failingSessions} of them`;
    case 'stale-uploads':
      return `remains of ${finding.count} uploads that were cut off: deleted`;
  }
}
