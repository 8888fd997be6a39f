import { createHash } from 'node:crypto';
import { createReadStream, type Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { AttachmentDelivery } from '@recount/collect';
import { identifyAttachment, type KnownAttachment } from '@recount/core';
import { type CliContext, note, print } from '../cli-context.ts';

/** Where a backfill brings attachments. Both reject with a BackfillTargetError. */
export interface AttachmentTarget {
  /** What the target has of a session: `<path>/<SHA-256>`. */
  list(sessionId: string, signal: AbortSignal): Promise<ReadonlySet<string>>;
  send(delivery: AttachmentDelivery, signal: AbortSignal): Promise<void>;
}

export interface AttachmentReport {
  found: number;
  /** In a dry run: would be. */
  stored: number;
  alreadyThere: number;
  failed: number;
  failures: { location: string; reason: string }[];
}

interface BringOptions {
  /** Undefined only in a dry run, which then takes everything for new. */
  target: AttachmentTarget | undefined;
  isDryRun?: boolean;
  /** Whether to leave alone what the target says that it has; its bytes may be damaged. Default true. */
  asksFirst?: boolean;
  /** Milliseconds since 1970. */
  sinceMs?: number | undefined;
  signal: AbortSignal;
  onFile?: ((path: string) => void) | undefined;
}

const MAX_KEPT_FAILURES = 100;

/** Which of the given paths are attachments themselves. */
export function isAttachmentPath(path: string): boolean {
  return identifyAttachment(path) !== undefined;
}

/**
 * Brings the files that agents keep beside transcripts, of the given files and folders, to the target, session by session; what it has
 * is left alone. Archives and buckets are not looked into. Ends early, without an error, if the signal is aborted.
 */
export async function bringAttachments(
  context: CliContext,
  paths: readonly string[],
  { target, isDryRun = false, asksFirst = true, sinceMs = 0, signal, onFile }: BringOptions,
): Promise<AttachmentReport> {
  const report: AttachmentReport = { found: 0, stored: 0, alreadyThere: 0, failed: 0, failures: [] };
  let known: { sessionId: string; contents: ReadonlySet<string> } | undefined;

  const bring = async (path: string, attachment: KnownAttachment): Promise<void> => {
    const { size: sizeBytes, mtimeMs: modifiedAtMs } = await stat(path);
    if (modifiedAtMs < sinceMs) return;
    report.found += 1;
    const { agent, sessionId, path: inSession } = attachment;
    const sha256 = await hashFile(path);
    if (asksFirst && target !== undefined && known?.sessionId !== sessionId) {
      known = { sessionId, contents: await target.list(sessionId, signal) };
    }
    if (target !== undefined && known?.contents.has(`${inSession}/${sha256}`)) {
      report.alreadyThere += 1;
      return;
    }
    const about = { agent, sessionId, path: inSession, modifiedAtMs, sizeBytes, sha256 };
    if (!isDryRun) await target?.send({ ...about, open: () => createReadStream(path) }, signal);
    onFile?.(path);
    report.stored += 1;
  };

  for await (const path of listFiles(paths.map((path) => resolve(context.workingDirectory, path)))) {
    if (signal.aborted) return report;
    const attachment = identifyAttachment(path);
    if (attachment === undefined) continue;
    try {
      await bring(path, attachment);
    } catch (error) {
      if (signal.aborted) return report;
      report.failed += 1;
      const reason = error instanceof Error ? error.message : 'unknown error';
      if (report.failures.length < MAX_KEPT_FAILURES) report.failures.push({ location: path, reason });
    }
  }
  return report;
}

/** Prints what became of them; nothing if there are none. */
export function showAttachments(
  context: CliContext,
  { found, stored, alreadyThere, failed, failures }: AttachmentReport,
  isDryRun = false,
): void {
  if (found === 0) return;
  const parts = [`${stored} ${isDryRun ? 'would be stored' : 'stored'}`, `${alreadyThere} already there`];
  if (failed > 0) parts.push(`${failed} failed`);
  print(context, `Attachments (results and files beside transcripts): ${parts.join(', ')}`);
  for (const { location, reason } of failures) note(context, `recount: ${location}: ${reason}`);
}

/** Files in the order of their names, so that those of a session come together. Links below a given path are not followed. */
async function* listFiles(paths: readonly string[]): AsyncGenerator<string, void> {
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isFile()) yield path;
    if (found?.isDirectory()) yield* listFolder(path);
  }
}

async function* listFolder(folder: string): AsyncGenerator<string, void> {
  // What there is no permission for, the transcripts' own pass reports.
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => []);
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isFile()) yield path;
    if (entry.isDirectory()) yield* listFolder(path);
  }
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
