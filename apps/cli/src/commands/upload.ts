import type { BackfillEvent } from '@recount/collect';
import { Command } from 'commander';
import type { ApiOptions } from '../connection/find-api.ts';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { INTERRUPTED_EXIT_CODE } from '../terminal/interruption.ts';

interface UploadOptions extends ApiOptions {
  json?: boolean;
}

export function createUploadCommand(context: CliContext): Command {
  return new Command('upload')
    .description('Upload transcripts through the API, and show their ids')
    .argument('<path...>', 'as `recount backfill` takes them')
    .option('--server <url>', 'API to upload to; default RECOUNT_SERVER, or the local installation')
    .option('--key <key>', 'API key; better set RECOUNT_API_KEY, which other users of the machine cannot see')
    .option('--json', 'print one JSON object a line')
    .addHelpText(
      'after',
      `
Ends when everything is stored; a worker ingests it afterwards. Exits with 1 if something failed, or if a given file
is not a transcript. Files that agents keep with transcripts, such as large tool results, are uploaded too; other
files in a given folder are skipped. For many files, prefer \`recount backfill\`, which is faster when repeated, and
waits until all is ingested.

Examples:
  $ recount upload session.jsonl
  $ RECOUNT_API_KEY=rk_… recount upload --server https://recount.example.com ~/.claude/projects/-home-me-app`,
    )
    .action((paths: string[], options: UploadOptions) => upload(context, paths, options));
}

async function upload(context: CliContext, paths: string[], options: UploadOptions): Promise<void> {
  const [
    { isAttachmentPath },
    { backfillWithProgress },
    { describeSkip },
    { uploadAttachments, showAttachments },
    { createApiClient },
    { createHttpTarget },
    { findApi, NO_API_MESSAGE },
  ] = await Promise.all([
    import('@recount/collect'),
    import('../backfill/backfill-with-progress.ts'),
    import('../backfill/format-report.ts'),
    import('../backfill/upload-attachments.ts'),
    import('../connection/api-client.ts'),
    import('../connection/http-target.ts'),
    import('../connection/find-api.ts'),
  ]);
  const signal = context.listenForInterruption();
  const place = await findApi(context, options);
  if (place === undefined) throw new CliError(NO_API_MESSAGE);
  const target = createHttpTarget(createApiClient(place));
  const { report, refused } = await backfillWithProgress(context, {
    paths: paths.filter((path) => !isAttachmentPath(path)),
    target,
    asksFirst: false,
    waitsForIngestion: false,
    showsProgress: false,
    namesSkipped: false,
    signal,
    onEvent: (event) => showOutcome(context, event, { asJson: options.json ?? false, describeSkip }),
  });
  const { queued, alreadyThere, healed, skipped, failed } = report;
  const healedText = healed > 0 ? `${healed} there already, damaged, and stored again, ` : '';
  note(context, `${queued} uploaded, ${alreadyThere} there already, ${healedText}${skipped} skipped, ${failed} failed`);
  const attachments = await uploadAttachments(context, paths, { target, signal });
  showAttachments(context, attachments, { say: note });
  if (failed + attachments.failed + refused > 0) context.exitCode = 1;
  if (report.isInterrupted || signal.aborted) context.exitCode = INTERRUPTED_EXIT_CODE;
}

function showOutcome(
  context: CliContext,
  event: BackfillEvent,
  { asJson, describeSkip }: { asJson: boolean; describeSkip: (reason: string) => string },
): void {
  if (event.kind !== 'outcome') return;
  const { location, outcome, reason, transcript } = event;
  const { transcriptId, sessionId, status } = transcript ?? {};
  if (asJson) print(context, JSON.stringify({ location, outcome, reason, transcriptId, sessionId, status }));
  else if (transcript !== undefined) print(context, [transcriptId, sessionId, outcome, location].join('\t'));
  else note(context, `${outcome}: ${location}: ${outcome === 'skipped' ? describeSkip(reason ?? '') : reason}`);
}
