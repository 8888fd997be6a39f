import {
  createDeliveryRetry,
  createStopRule,
  type DeliveryTarget,
  type RetryPolicy,
  UPLOAD_RETRIES,
} from '@recount/collect';
import { identifyAttachment, type KnownAttachment } from '@recount/core';
import { DEFAULT_MAX_ATTACHMENT_BYTES } from '@recount/ingest';
import { readSources, type TranscriptSource } from '@recount/storage/sources';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { openGivenPaths } from './given-paths.ts';
import { type HeldContent, holdContent } from './hold-content.ts';

export interface AttachmentReport {
  found: number;
  /** In a dry run, the files that would be stored. */
  stored: number;
  alreadyThere: number;
  /** Earlier states of files that the target, or this run, has a later state of, which counts. */
  earlier: number;
  failed: number;
  failures: { location: string; reason: string }[];
}

interface LatestState {
  sha256: string;
  writtenAtMs: number;
  /** As it was sent: 1 ms later than the state before it, if both were written at the same time. */
  modifiedAtMs: number;
  isStored: boolean;
}

interface BringOptions {
  /** May be undefined only in a dry run, which then treats everything as new. */
  target: Pick<DeliveryTarget, 'listAttachments' | 'sendAttachment'> | undefined;
  isDryRun?: boolean;
  /** True to skip the files that the target lists, although its bytes may be damaged. Default true. */
  asksFirst?: boolean;
  /** Milliseconds since 1970. */
  sinceMs?: number | undefined;
  signal: AbortSignal;
  onFile?: ((path: string) => void) | undefined;
  retryPolicy?: RetryPolicy | undefined;
}

const MAX_KEPT_FAILURES = 100;
/** Number of files whose later states are recognised; of further ones, the target keeps the last written one. */
const MAX_KNOWN_FILES = 100_000;

/** Which of the given paths are attachments themselves. */
export function isAttachmentPath(path: string): boolean {
  return identifyAttachment(path) !== undefined;
}

/**
 * Delivers the files that agents keep with transcripts, from the given files, folders, archives and buckets, to the
 * target, session by session; existing ones are skipped. Ends early, without an error, if the signal is aborted, or if the target denies everything
 * or stays unavailable. Throws
 * UsageError for a remote location other than S3.
 */
export async function bringAttachments(
  context: CliContext,
  paths: readonly string[],
  { target, isDryRun = false, asksFirst = true, sinceMs, signal, onFile, retryPolicy = UPLOAD_RETRIES }: BringOptions,
): Promise<AttachmentReport> {
  const report: AttachmentReport = { found: 0, stored: 0, alreadyThere: 0, earlier: 0, failed: 0, failures: [] };
  const retry = createDeliveryRetry(retryPolicy, signal);
  const isOver = createStopRule();
  let known: { sessionId: string; contents: ReadonlySet<string> } | undefined;
  /** Latest states of this run, by session and path, because an archive may have several members of one name. */
  const latest = new Map<string, LatestState>();

  const deliver = async (
    source: TranscriptSource,
    { agent, sessionId, path }: KnownAttachment,
    { sha256, sizeBytes, open }: HeldContent,
  ): Promise<'stored' | 'alreadyThere' | 'earlier'> => {
    if (asksFirst && target !== undefined && known?.sessionId !== sessionId) {
      known = { sessionId, contents: await retry(() => target.listAttachments(sessionId, signal)) };
    }
    const file = `${sessionId}/${path}`;
    const before = latest.get(file);
    if (before?.sha256 === sha256) return 'alreadyThere';
    const writtenAtMs = source.modifiedAtMs ?? Date.now();
    if (before !== undefined && writtenAtMs < before.writtenAtMs) return 'earlier';
    // Of two states with one time, the later one in the archive counts, as it does when the archive is unpacked.
    const modifiedAtMs = Math.max(writtenAtMs, before === undefined ? 0 : before.modifiedAtMs + 1);
    const isThere = before?.isStored !== true && known?.contents.has(`${path}/${sha256}`) === true;
    if (!isThere && !isDryRun && target !== undefined) {
      const about = { agent, sessionId, path, modifiedAtMs, sizeBytes, sha256 };
      const { outcome } = await retry(() => target.sendAttachment({ ...about, open }, signal));
      if (outcome === 'older') return 'earlier';
    }
    if (before?.isStored === true) {
      report.stored -= 1;
      report.earlier += 1;
    }
    const isRoom = before !== undefined || latest.size < MAX_KNOWN_FILES;
    if (isRoom) latest.set(file, { sha256, writtenAtMs, modifiedAtMs, isStored: !isThere });
    return isThere ? 'alreadyThere' : 'stored';
  };

  const bring = async (source: TranscriptSource, attachment: KnownAttachment): Promise<void> => {
    report.found += 1;
    const content = await holdContent(source);
    try {
      const outcome = await deliver(source, attachment, content);
      report[outcome] += 1;
      if (outcome === 'stored') onFile?.(source.location);
    } finally {
      await content.release();
    }
  };

  const fail = (location: string, error: unknown): void => {
    report.failed += 1;
    const reason = error instanceof Error ? error.message : 'unknown error';
    if (report.failures.length < MAX_KEPT_FAILURES) report.failures.push({ location, reason });
  };

  const given = await openGivenPaths(context, paths);
  const limits = { maxTranscriptBytes: DEFAULT_MAX_ATTACHMENT_BYTES };
  const options = { limits, wants: isAttachmentPath, ...given.options, ...(sinceMs !== undefined && { sinceMs }) };
  try {
    for await (const source of readSources(given.paths, { ...options, signal })) {
      // Unreadable folders and archives are reported by the pass over transcripts.
      if (source.kind === 'failed' && isAttachmentPath(toNameOf(source.location))) {
        report.found += 1;
        fail(source.location, source.error);
      }
      const attachment = source.kind === 'transcript' ? identifyAttachment(source.path) : undefined;
      if (source.kind !== 'transcript' || attachment === undefined) continue;
      try {
        await bring(source, attachment);
        isOver(undefined);
      } catch (error) {
        if (signal.aborted) break;
        fail(source.location, error);
        if (isOver(error)) break;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    given.close();
  }
  return report;
}

/** For a member of an archive, its name in the archive. */
const toNameOf = (location: string): string => location.replace(/^.*?\.(?:tar|zip|tgz|tzst|tar\.gz|tar\.zst)!/i, '');

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
