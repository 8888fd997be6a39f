import { Command, Option } from 'commander';
import type { TargetOptions } from '../backfill/choose-target.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';
import { INTERRUPTED_EXIT_CODE } from '../terminal/interruption.ts';
import { parseSince, wholeNumber } from '../terminal/option-values.ts';

interface BackfillCommandOptions extends TargetOptions {
  dryRun?: boolean;
  concurrency: number;
  since?: number;
  json?: boolean;
  wait: boolean;
  agent: string[];
  list?: boolean;
  rescan?: boolean;
  yes?: boolean;
  verbose?: boolean;
}

const MAX_CONCURRENCY = 16;

export function createBackfillCommand(context: CliContext): Command {
  return new Command('backfill')
    .description('Import transcripts from files, folders, archives and buckets, or from this machine’s agents')
    .argument(
      '[path...]',
      'files, folders, agents’ databases, .jsonl.gz, .jsonl.zst, .tar, .tar.gz, .zip, s3://bucket/prefix; ' +
        'default: what the agents on this machine have kept, once you have confirmed it',
    )
    .option('--list', 'list the sessions of this machine’s agents, and ingest nothing')
    .addOption(
      new Option('--agent <id>', 'without paths, only this agent; may be repeated')
        .argParser(collect)
        .default([], 'all'),
    )
    .option('-y, --yes', 'without paths, ingest what is found without asking')
    .option('-v, --verbose', 'name each file that is skipped, and why')
    .option('--dry-run', 'read, identify and hash, show what would be ingested, and write nothing')
    .option('--since <date>', 'only what was modified since: 2026-03-01, 7d, 12h', (text) => parseSince(text))
    .option('--concurrency <n>', 'transcripts to process concurrently', wholeNumber(1, MAX_CONCURRENCY), 4)
    .option('--no-wait', 'end when all is stored, without waiting until it is ingested')
    .option('--person <name>', 'whose sessions these are, such as an email address')
    .option('--machine <name>', 'machine that they come from')
    .option(
      '--rescan',
      'read all sessions of databases again, and send all attachments, also those that have not changed since the last run',
    )
    .option('--json', 'print the result as JSON')
    .option('--server <url>', 'API to send it to; default RECOUNT_SERVER, or the local installation')
    .option('--key <key>', 'API key; better set RECOUNT_API_KEY, which other users of the machine cannot see')
    .option('--direct', 'directly to the raw store and database of RECOUNT_RAW_STORE and DATABASE_URL')
    .option('--workspace <name>', 'workspace, with --direct (default: "default")')
    .addHelpText(
      'after',
      `
If interrupted, run it again to continue; stored transcripts are skipped. Exits with 1 if something failed, or if a
given file is not a transcript. Reads nothing but the given paths, and follows no links within them. Without paths, it
lists the agents
that have sessions on this machine, honouring CLAUDE_CONFIG_DIR, CODEX_HOME, XDG_DATA_HOME and the like, and asks first.

Examples:
  $ recount backfill
  $ recount backfill --list --json
  $ recount backfill --yes --agent claude-code --agent codex
  $ recount backfill ~/.claude/projects
  $ recount backfill --since 7d --dry-run ~/.claude/projects
  $ RECOUNT_API_KEY=rk_… recount backfill --server https://recount.example.com backup.tar.gz
  $ recount backfill --direct s3://transcripts/2026`,
    )
    .action((paths: string[], options: BackfillCommandOptions) => backfill(context, paths, options));
}

const collect = (value: string, values: string[]): string[] => [...values, value];

async function backfill(context: CliContext, given: string[], options: BackfillCommandOptions): Promise<void> {
  const paths = given.length > 0 ? checkGiven(given, options) : await choosePaths(context, options);
  if (paths === undefined) return;
  const [{ isAttachmentPath }, { backfillWithProgress }, { formatReport }, { uploadAttachments, showAttachments }] =
    await Promise.all([
      import('@recount/collect'),
      import('../backfill/backfill-with-progress.ts'),
      import('../backfill/format-report.ts'),
      import('../backfill/upload-attachments.ts'),
    ]);
  const isDryRun = options.dryRun ?? false;
  const signal = context.listenForInterruption();
  const chosen = await openTarget(context, options);
  try {
    const { report, elapsedMs, refused } = await backfillWithProgress(context, {
      paths: paths.filter((path) => !isAttachmentPath(path)),
      target: chosen?.target,
      targetId: options.rescan ? undefined : chosen?.id,
      sinceMs: options.since,
      concurrency: options.concurrency,
      waitsForIngestion: options.wait,
      isDryRun,
      namesSkipped: options.verbose,
      signal,
    });
    const attachments = await uploadAttachments(context, paths, {
      target: chosen?.target,
      asksFirst: !options.rescan,
      sinceMs: options.since,
      isDryRun,
      signal,
      onFile: options.verbose ? (path) => note(context, `attachment: ${path}`) : undefined,
    });
    if (signal.aborted) report.isInterrupted = true;
    if (options.json) printJson(context, { ...report, attachments, isDryRun, elapsedMs: Math.round(elapsedMs) });
    else for (const line of formatReport(report, elapsedMs, isDryRun)) print(context, line);
    if (!options.json) showAttachments(context, attachments, { isDryRun });
    if (report.skipped > refused && !options.verbose && !options.json)
      note(context, '--verbose names what is skipped.');
    if (report.isInterrupted) note(context, 'Interrupted. Run it again to continue.');
    if (report.failed + attachments.failed + refused > 0) context.exitCode = 1;
    if (report.isInterrupted) context.exitCode = INTERRUPTED_EXIT_CODE;
  } finally {
    await chosen?.close();
  }
}

function checkGiven(given: string[], options: BackfillCommandOptions): string[] {
  if (!options.list && options.agent.length === 0) return given;
  throw new UsageError('--list and --agent apply to this machine’s sessions. Leave out the paths.');
}

/** Transcripts on this machine; undefined if there is nothing to ingest. */
async function choosePaths(context: CliContext, options: BackfillCommandOptions): Promise<string[] | undefined> {
  const { confirmFound, findOnMachine, showFound } = await import('../backfill/found-sessions.ts');
  const found = await findOnMachine(context, options);
  const asJson = options.json ?? false;
  if (options.list) {
    await showFound(context, found, asJson);
    return undefined;
  }
  return await confirmFound(context, found, { isConfirmed: (options.yes || options.dryRun) ?? false, asJson });
}

/** A dry run needs no target, but without one it does not know what exists already. */
async function openTarget(context: CliContext, options: BackfillCommandOptions) {
  const { chooseTarget } = await import('../backfill/choose-target.ts');
  try {
    return await chooseTarget(context, options);
  } catch (error) {
    if (!options.dryRun || (error as Error).name !== 'CliError') throw error;
    note(context, 'No server and no database, so everything counts as new.');
    return undefined;
  }
}
