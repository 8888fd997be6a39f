import {
  type AttachmentBackfillOptions,
  type AttachmentReport,
  backfillAttachments,
  isAttachmentPath,
} from '@recount/collect';
import { DEFAULT_MAX_ATTACHMENT_BYTES } from '@recount/ingest';
import { readSources } from '@recount/storage/sources';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { openGivenPaths } from './given-paths.ts';

interface BringOptions extends AttachmentBackfillOptions {
  /** Milliseconds since 1970. */
  sinceMs?: number | undefined;
}

/**
 * Delivers the files that agents keep with transcripts, from the given files, folders, archives and buckets, to the
 * target: see `backfillAttachments`. Throws UsageError for a remote location other than S3.
 */
export async function uploadAttachments(
  context: CliContext,
  paths: readonly string[],
  { sinceMs, ...options }: BringOptions,
): Promise<AttachmentReport> {
  const given = await openGivenPaths(context, paths);
  const limits = { maxTranscriptBytes: DEFAULT_MAX_ATTACHMENT_BYTES };
  const reading = { limits, wants: isAttachmentPath, ...given.options, ...(sinceMs !== undefined && { sinceMs }) };
  try {
    return await backfillAttachments(readSources(given.paths, { ...reading, signal: options.signal }), options);
  } finally {
    given.close();
  }
}

/** Prints the result, by default on stdout; nothing if there were no attachments. */
export function showAttachments(
  context: CliContext,
  { found, stored, alreadyThere, earlier, failed, failures }: AttachmentReport,
  { isDryRun = false, say = print }: { isDryRun?: boolean; say?: (context: CliContext, line: string) => void } = {},
): void {
  if (found === 0) return;
  const parts = [`${stored} ${isDryRun ? 'would be stored' : 'stored'}`, `${alreadyThere} already there`];
  if (earlier > 0) parts.push(`${earlier} earlier than another state of the same file, which counts`);
  if (failed > 0) parts.push(`${failed} failed`);
  say(context, `Attachments (files stored with transcripts): ${parts.join(', ')}`);
  for (const { location, reason } of failures) note(context, `recount: ${location}: ${reason}`);
}
