import { identifyAttachment, type KnownAttachment } from '@recount/core';
import type { SourceItem, TranscriptSource } from '@recount/storage/sources';
import { createDeliveryRetry, createStopRule, type RetryPolicy, UPLOAD_RETRIES } from '../deliver/delivery-retry.ts';
import type { DeliveryTarget } from '../deliver/delivery-target.ts';
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

export interface AttachmentBackfillOptions {
  /** May be undefined only in a dry run, which then treats everything as new. */
  target: Pick<DeliveryTarget, 'listAttachments' | 'sendAttachment'> | undefined;
  isDryRun?: boolean;
  /** True to skip the files that the target lists, although their bytes may be damaged. Default true. */
  asksFirst?: boolean;
  signal: AbortSignal;
  onFile?: ((path: string) => void) | undefined;
  retryPolicy?: RetryPolicy | undefined;
}

interface LatestState {
  sha256: string;
  writtenAtMs: number;
  /** As it was sent: 1 ms later than the state before it, if both were written at the same time. */
  modifiedAtMs: number;
  isStored: boolean;
}

const MAX_KEPT_FAILURES = 100;
/** Number of files whose later states are recognised; of further ones, the target keeps the last written one. */
const MAX_KNOWN_FILES = 100_000;

/** True for the path of an attachment. */
export function isAttachmentPath(path: string): boolean {
  return identifyAttachment(path) !== undefined;
}

/**
 * Delivers the attachments among `sources` to the target, session by session; existing ones are skipped. Ends early,
 * without an error, if the signal is aborted, or if the target denies everything or stays unavailable. Rejects with
 * errors of iterating `sources`.
 */
export async function backfillAttachments(
  sources: AsyncIterable<SourceItem>,
  options: AttachmentBackfillOptions,
): Promise<AttachmentReport> {
  const run = new AttachmentRun(options);
  try {
    for await (const source of sources) {
      if (!(await run.take(source))) break;
    }
  } catch (error) {
    if (!options.signal.aborted) throw error;
  }
  return run.report;
}

class AttachmentRun {
  readonly report: AttachmentReport = { found: 0, stored: 0, alreadyThere: 0, earlier: 0, failed: 0, failures: [] };
  readonly #options: AttachmentBackfillOptions;
  readonly #retry: ReturnType<typeof createDeliveryRetry>;
  readonly #isOver = createStopRule();
  /** The target's attachments of the current session. */
  #known: { sessionId: string; contents: ReadonlySet<string> } | undefined;
  /** Latest states of this run, by session and path, because an archive may have several members of one name. */
  readonly #latest = new Map<string, LatestState>();

  constructor(options: AttachmentBackfillOptions) {
    this.#options = options;
    this.#retry = createDeliveryRetry(options.retryPolicy ?? UPLOAD_RETRIES, options.signal);
  }

  /** Returns false if no further source is to be delivered. */
  async take(source: SourceItem): Promise<boolean> {
    // Unreadable folders and archives are reported by the pass over transcripts.
    if (source.kind === 'failed' && isAttachmentPath(toNameOf(source.location))) {
      this.report.found += 1;
      this.#fail(source.location, source.error);
    }
    const attachment = source.kind === 'transcript' ? identifyAttachment(source.path) : undefined;
    if (source.kind !== 'transcript' || attachment === undefined) return true;
    try {
      await this.#takeAttachment(source, attachment);
      return !this.#isOver(undefined);
    } catch (error) {
      if (this.#options.signal.aborted) return false;
      this.#fail(source.location, error);
      return !this.#isOver(error);
    }
  }

  async #takeAttachment(source: TranscriptSource, attachment: KnownAttachment): Promise<void> {
    this.report.found += 1;
    const content = await holdContent(source);
    try {
      const outcome = await this.#deliver(source, attachment, content);
      this.report[outcome] += 1;
      if (outcome === 'stored') this.#options.onFile?.(source.location);
    } finally {
      await content.release();
    }
  }

  async #deliver(
    source: TranscriptSource,
    { agent, sessionId, path }: KnownAttachment,
    { sha256, sizeBytes, open }: HeldContent,
  ): Promise<'stored' | 'alreadyThere' | 'earlier'> {
    const contents = await this.#listKnown(sessionId);
    const file = `${sessionId}/${path}`;
    const before = this.#latest.get(file);
    if (before?.sha256 === sha256) return 'alreadyThere';
    const writtenAtMs = source.modifiedAtMs ?? Date.now();
    if (before !== undefined && writtenAtMs < before.writtenAtMs) return 'earlier';
    // The later of two states with one time counts, as it does when the archive is unpacked.
    const modifiedAtMs = Math.max(writtenAtMs, before === undefined ? 0 : before.modifiedAtMs + 1);
    const isThere = before?.isStored !== true && contents?.has(`${path}/${sha256}`) === true;
    const { target, isDryRun = false, signal } = this.#options;
    if (!isThere && !isDryRun && target !== undefined) {
      const about = { agent, sessionId, path, modifiedAtMs, sizeBytes, sha256 };
      const { outcome } = await this.#retry(() => target.sendAttachment({ ...about, open }, signal));
      if (outcome === 'older') return 'earlier';
    }
    if (before?.isStored === true) {
      this.report.stored -= 1;
      this.report.earlier += 1;
    }
    const isRoom = before !== undefined || this.#latest.size < MAX_KNOWN_FILES;
    if (isRoom) this.#latest.set(file, { sha256, writtenAtMs, modifiedAtMs, isStored: !isThere });
    return isThere ? 'alreadyThere' : 'stored';
  }

  async #listKnown(sessionId: string): Promise<ReadonlySet<string> | undefined> {
    const { target, asksFirst = true, signal } = this.#options;
    if (!asksFirst || target === undefined) return undefined;
    if (this.#known?.sessionId !== sessionId) {
      this.#known = { sessionId, contents: await this.#retry(() => target.listAttachments(sessionId, signal)) };
    }
    return this.#known.contents;
  }

  #fail(location: string, error: unknown): void {
    this.report.failed += 1;
    const reason = error instanceof Error ? error.message : 'unknown error';
    if (this.report.failures.length < MAX_KEPT_FAILURES) this.report.failures.push({ location, reason });
  }
}

/** For a member of an archive, its name in the archive. */
const toNameOf = (location: string): string => location.replace(/^.*?\.(?:tar|zip|tgz|tzst|tar\.gz|tar\.zst)!/i, '');
