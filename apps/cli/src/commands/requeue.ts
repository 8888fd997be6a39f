import { Command } from 'commander';
import { type CliContext, note, print } from '../cli-context.ts';
import { UsageError } from '../cli-error.ts';
import type { OpenInstallation } from '../connection/open-installation.ts';

interface RequeueOptions {
  failed?: boolean;
  workspace: string;
}

const PAGE_ROWS = 500;
/** Those that have no job now. */
const REQUEUEABLE = ['ingested', 'superseded', 'failed'] as const;

export function createRequeueCommand(context: CliContext): Command {
  return new Command('requeue')
    .description('Have transcripts ingested again, from their raw bytes')
    .argument('[transcript-id...]', 'ids of transcripts')
    .option('--failed', 'all that were given up')
    .option('--workspace <name>', 'workspace', 'default')
    .addHelpText(
      'after',
      `
Works on DATABASE_URL and RECOUNT_RAW_STORE, else on the local installation, which must be running.
Rows stay until the new ones replace them.

Examples:
  $ recount requeue --failed
  $ recount requeue 01JCZ8Q4M2V7T3N5R9W0XYABCD`,
    )
    .action((ids: string[], options: RequeueOptions) => requeue(context, ids, options));
}

async function requeue(context: CliContext, ids: readonly string[], { failed, workspace }: RequeueOptions) {
  if (ids.length > 0 === (failed === true)) throw new UsageError('Give ids of transcripts, or --failed.');
  const { findInstallationConfig, findWorkspace, openInstallation } = await import(
    '../connection/open-installation.ts'
  );
  const { requeueTranscript } = await import('@recount/ingest');
  const installation = await openInstallation(await findInstallationConfig(context));
  let requeuedCount = 0;
  try {
    const workspaceId = await findWorkspace(installation.database, workspace);
    const from = failed ? (['failed'] as const) : REQUEUEABLE;
    for await (const transcriptId of failed ? listFailed(installation, workspaceId) : ids) {
      if (await requeueTranscript(installation, { workspaceId, transcriptId }, from)) {
        requeuedCount += 1;
        print(context, transcriptId);
      } else if (!failed) {
        context.exitCode = 1;
        note(
          context,
          `${transcriptId}: there is no such transcript in the workspace ${workspace}, or it is queued already`,
        );
      }
    }
  } finally {
    await installation.close();
  }
  note(context, `${requeuedCount} queued.`);
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
