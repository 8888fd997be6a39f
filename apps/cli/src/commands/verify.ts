import type { DerivedTableCheck, RowCheck } from '@recount/db';
import type { IngestDependencies, LeftOut, RawVerification } from '@recount/ingest';
import { Command } from 'commander';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { formatBytes, formatCount, formatCountOf } from '../terminal/format-values.ts';
import { whileShowing } from '../terminal/progress-bar.ts';

interface VerifyOptions {
  all?: boolean;
  json?: boolean;
  raw: boolean;
  rebuild?: boolean;
  workspace: string;
}

/** Findings of one workspace. */
interface Verification {
  workspace: string;
  /** Held against a recount from other rows. */
  tables: DerivedTableCheck[];
  /** Held against the raw transcripts; null with --no-raw. */
  raw: RawVerification | null;
}

type Deps = Pick<IngestDependencies, 'database' | 'rawStore'>;

export function createVerifyCommand(context: CliContext): Command {
  return new Command('verify')
    .description('Make all rows of a workspace again, from the raw transcripts, and compare each')
    .option('--all', 'every workspace, one after another')
    .option('--no-raw', 'compare figures with the rows that they are made from, and read no raw transcript')
    .option('--rebuild', 'rebuild sessions, ledger and roll-ups first')
    .option('--json', 'print JSON')
    .option('--workspace <name>', 'workspace', 'default')
    .addHelpText(
      'after',
      `
First counts again from stored rows: the figures of transcripts and sessions, whose they are, which copies of a response
and of a tool call count, the usage ledger, the roll-ups and the findings. Then reads every raw transcript, makes its
rows again, and compares each by a hash: messages with tokens and costs, texts, usage, tool calls, events, issues,
search documents, and the description beside the object. That takes about as long as ingestion, and no more memory.

Not compared: attachments and live streams (\`recount doctor --checksums\` reads them), rows whose raw transcript or
texts retention has deleted, and rows of an older parser. The output says how many.

Works on DATABASE_URL and RECOUNT_RAW_STORE, else on the local installation, which must be running; ingestion may
continue. Set RECOUNT_MAX_LINE_BYTES and RECOUNT_PRICE_FILE as the workers have them. Exits with 1 if a row differs.

Examples:
  $ recount verify
  $ recount verify --all
  $ recount verify --no-raw --rebuild`,
    )
    .action((options: VerifyOptions) => verify(context, options));
}

async function verify(context: CliContext, options: VerifyOptions): Promise<void> {
  const { findWorkspace, withInstallation } = await import('../connection/open-installation.ts');
  const { listWorkspaces } = await import('@recount/db');
  const verifications: Verification[] = [];
  await withInstallation(context, async (installation) => {
    const every = await listWorkspaces(installation.database.database);
    const chosen = options.all
      ? every
      : [{ id: await findWorkspace(installation.database, options.workspace), name: options.workspace }];
    for (const workspace of chosen) {
      const verification = await verifyWorkspace(context, installation, workspace, options);
      verifications.push(verification);
      if (!options.json) printVerification(context, verification);
    }
    const others = every.length - chosen.length;
    if (others > 0 && !options.json) note(context, `${formatCountOf(others, 'other workspace')} not verified: --all.`);
  });
  if (verifications.some(hasFault)) context.exitCode = 1;
  if (options.json) printJson(context, { workspaces: verifications });
}

const isWrong = ({ missing, surplus }: RowCheck): boolean => missing + surplus > 0;
const hasFault = ({ tables, raw }: Verification): boolean =>
  tables.some(isWrong) || raw?.checks.some(isWrong) === true || (raw?.unreadable.length ?? 0) > 0;

async function verifyWorkspace(
  context: CliContext,
  installation: Deps,
  { id, name }: { id: string; name: string },
  { rebuild = false, raw: isRawRead }: VerifyOptions,
): Promise<Verification> {
  const { verifyUsage } = await import('@recount/db');
  const { database } = installation;
  if (rebuild) await rebuildWorkspace(context, installation, id);
  const tables = await whileShowing(
    context.stderr,
    () => `Counting everything in ${name} again`,
    () => database.withSnapshot((snapshot) => verifyUsage(snapshot, id)),
  );
  return { workspace: name, tables, raw: isRawRead ? await verifyRaw(context, installation, id) : null };
}

async function rebuildWorkspace(context: CliContext, { database }: Deps, workspaceId: string): Promise<void> {
  const { toOperator } = await import('../connection/operator.ts');
  const { rebuildUsage } = await import('@recount/ingest');
  let count = 0;
  await whileShowing(
    context.stderr,
    () => `${formatCountOf(count, 'session')} rebuilt`,
    async () => {
      for await (const _sessionId of rebuildUsage({ database }, workspaceId, toOperator())) count += 1;
    },
  );
  note(context, `${formatCountOf(count, 'session')} rebuilt.`);
}

async function verifyRaw(context: CliContext, installation: Deps, workspaceId: string): Promise<RawVerification> {
  const [{ verifyTranscripts }, { workerEnvironment }, { readEnvironment }, { readPriceFile }] = await Promise.all([
    import('@recount/ingest'),
    import('@recount/worker'),
    import('@recount/service/config'),
    import('../prices/price-file.ts'),
  ]);
  const settings = readEnvironment(workerEnvironment.pick({ RECOUNT_MAX_LINE_BYTES: true }), context.environment);
  let read = { transcripts: 0, bytes: 0 };
  return await whileShowing(
    context.stderr,
    () => `${formatCountOf(read.transcripts, 'raw transcript')} compared, ${formatBytes(read.bytes)}`,
    async () =>
      verifyTranscripts(installation, workspaceId, {
        maxLineBytes: settings.RECOUNT_MAX_LINE_BYTES,
        priceSource: { file: await readPriceFile(context) },
        signal: context.listenForInterruption(),
        onTranscript: ({ transcripts, bytes }) => {
          read = { transcripts, bytes };
        },
      }),
  );
}

function printVerification(context: CliContext, { workspace, tables, raw }: Verification): void {
  print(context, `Workspace ${workspace}`);
  const checks = raw?.checks ?? [];
  const width = Math.max(...[...tables, ...checks].map(({ table }) => table.length));
  const printCheck = ({ table, rows, missing, surplus }: RowCheck, source: string): void => {
    const finding =
      missing + surplus === 0
        ? 'OK'
        : `DIFFERS from ${source}: ${formatCount(missing)} missing, ${formatCount(surplus)} surplus`;
    print(context, `${table.padEnd(width)} ${formatCount(rows).padStart(11)} rows  ${finding}`);
  };
  for (const check of tables) printCheck(check, 'a full recount');
  for (const check of checks) printCheck(check, 'the raw transcripts');
  for (const line of raw === null ? ['No raw transcript was read: --no-raw.'] : describeRaw(raw)) print(context, line);
  const wrong = [...tables, ...checks].filter(isWrong);
  const unreadable = raw?.unreadable.length ?? 0;
  const verdict = [
    wrong.length === 0
      ? `All ${formatCountOf(tables.length + checks.length, 'table')} match.`
      : `${wrong.length} of ${formatCountOf(tables.length + checks.length, 'table')} ${wrong.length === 1 ? 'differs' : 'differ'}: ${wrong.map(({ table }) => table).join(', ')}.`,
    ...(unreadable > 0 ? [`${formatCountOf(unreadable, 'raw transcript')} cannot be read.`] : []),
  ];
  print(context, verdict.join(' '));
}

const LEFT_OUT: Readonly<Record<keyof LeftOut, string>> = {
  withoutRows: 'without rows, because they wait, have failed, or are contained in others',
  rawDeleted: 'whose raw bytes retention has deleted',
  textsDeleted: 'whose texts retention has deleted',
  outdated: 'of an older parser or other rules of redaction, which workers ingest again',
  otherPrices: 'at other prices, in their costs: `recount reprice` applies the current ones',
  waitingForSearch: 'not yet indexed for search, in their search documents',
};

function describeRaw({ transcripts, bytes, leftOut, differing, unreadable }: RawVerification): string[] {
  const reasons = (Object.keys(LEFT_OUT) as (keyof LeftOut)[]).filter((reason) => leftOut[reason] > 0);
  return [
    `${formatCountOf(transcripts, 'raw transcript')} read, ${formatBytes(bytes)}.`,
    ...reasons.map((reason) => `Not compared: ${formatCountOf(leftOut[reason], 'transcript')} ${LEFT_OUT[reason]}.`),
    ...differing.map((id) => `transcript ${id} differs: \`recount requeue ${id}\` makes its rows again`),
    ...unreadable.map((id) => `transcript ${id}: its raw object cannot be read, see \`recount doctor --checksums\``),
  ];
}
