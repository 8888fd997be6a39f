import type { RequeueAudit } from '@recount/ingest';
import { Command } from 'commander';
import type { OpenInstallation } from '../connection/open-installation.ts';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { UsageError } from '../terminal/cli-error.ts';

interface RequeueOptions {
  failed?: boolean;
  outdated?: boolean;
  workspace: string;
}

const PAGE_ROWS = 500;
/** Statuses without a job. */
const REQUEUEABLE = ['ingested', 'superseded', 'failed'] as const;

export function createRequeueCommand(context: CliContext): Command {
  return new Command('requeue')
    .description('Ingest transcripts again, from their raw bytes')
    .argument('[transcript-id...]', 'ids of transcripts')
    .option('--failed', 'all that failed')
    .option('--outdated', 'all whose rows were written by an older version of recount')
    .option('--workspace <name>', 'workspace', 'default')
    .addHelpText(
      'after',
      `
Works on DATABASE_URL and RECOUNT_RAW_STORE, else on the local installation, which must be running.
Rows stay until the new ones replace them.

Examples:
  $ recount requeue --failed
  $ recount requeue --outdated
  $ recount requeue 01JCZ8Q4M2V7T3N5R9W0XYABCD`,
    )
    .action((ids: string[], options: RequeueOptions) => requeue(context, ids, options));
}

async function requeue(context: CliContext, ids: readonly string[], options: RequeueOptions): Promise<void> {
  const choices = [ids.length > 0, options.failed === true, options.outdated === true];
  if (choices.filter(Boolean).length !== 1) throw new UsageError('Pass transcript ids, or --failed, or --outdated.');
  const { findWorkspace, withInstallation } = await import('../connection/open-installation.ts');
  const { toOperator } = await import('../connection/operator.ts');
  const { requeueOutdated } = await import('@recount/ingest');
  let requeuedCount = 0;
  await withInstallation(context, async (installation) => {
    const workspaceId = await findWorkspace(installation.database, options.workspace);
    const requeued = options.outdated
      ? requeueOutdated(installation, workspaceId, toOperator())
      : options.failed
        ? requeueEach(installation, workspaceId, listFailed(installation, workspaceId), 'failed')
        : requeueEach(installation, workspaceId, ids, 'one', (id) => {
            context.exitCode = 1;
            note(
              context,
              `${id}: there is no such transcript in the workspace ${options.workspace}, or it is queued already`,
            );
          });
    for await (const transcriptId of requeued) {
      requeuedCount += 1;
      print(context, transcriptId);
    }
  });
  note(context, `${requeuedCount} queued.`);
}

async function* requeueEach(
  installation: OpenInstallation,
  workspaceId: string,
  ids: Iterable<string> | AsyncIterable<string>,
  of: 'one' | 'failed',
  onRefused?: (transcriptId: string) => void,
): AsyncGenerator<string> {
  const { toOperator } = await import('../connection/operator.ts');
  const { requeueTranscript } = await import('@recount/ingest');
  const from = of === 'failed' ? (['failed'] as const) : REQUEUEABLE;
  let audit: RequeueAudit | undefined = { actor: toOperator(), of };
  for await (const transcriptId of ids) {
    if (await requeueTranscript(installation, { workspaceId, transcriptId }, from, audit)) {
      if (of === 'failed') audit = undefined;
      yield transcriptId;
    } else onRefused?.(transcriptId);
  }
}

async function* listFailed({ database }: OpenInstallation, workspaceId: string): AsyncGenerator<string> {
  const { listTranscripts } = await import('@recount/db');
  let afterId: string | undefined;
  for (;;) {
    const page = { afterId, limit: PAGE_ROWS };
    const rows = await listTranscripts(database.database, workspaceId, { statuses: ['failed'] }, page);
    for (const { id } of rows) yield id;
    afterId = rows.at(-1)?.id;
    if (rows.length < PAGE_ROWS) return;
  }
}
