import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { identifyAttachment, type KnownAttachment } from '@recount/core';
import { SourceError } from '@recount/storage/sources';
import { decompress } from '@recount/storage/sources/decompress';
import type { SentFile, SentLog } from '../spool/sent-log.ts';
import { removeWaiting, type SpoolFolder, toKeptPath, type WaitingFile } from '../spool/spool-folder.ts';
import { DeliveryError } from './delivery-error.ts';
import { createDeliveryRetry, SENDER_RETRIES } from './delivery-retry.ts';
import type { DeliveryTarget } from './delivery-target.ts';
import { type ReadFile, readSessionFile, waitUntilSettled } from './read-session-file.ts';

/** The part of a session that may leave this machine. */
export type SendDecision =
  | { kind: 'everything' }
  | { kind: 'nothing'; reason: string }
  /** Sends other bytes than the agent's. They must begin alike when more is added. */
  | {
      kind: 'rewritten';
      what: string;
      rewrite(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
      /** True if the session's attachments may be sent as well, rewritten in the same way. */
      takesAttachments: boolean;
    };

export interface FileSenderDependencies {
  folder: SpoolFolder;
  target: Pick<DeliveryTarget, 'send' | 'sendAttachment'>;
  /** Decides by the name of the session's file and its first bytes (at most 1 MiB). Defaults to everything. */
  decide?: ((path: string, head: Buffer) => SendDecision) | undefined;
}

export interface FileSenderOptions {
  /** Default 2000. */
  settleMs?: number | undefined;
  /** The time to wait for a file that keeps changing before its complete lines are sent. Default 15,000. */
  maxSettleWaitMs?: number | undefined;
  /** Delay before a second attempt at a file; doubled before the third. Default 1000. */
  retryDelayMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Counts of what was done. */
export interface SendCounts {
  sent: number;
  duplicates: number;
  refused: number;
  sentBytes: number;
}

/** Both reject with a DeliveryError if nothing more can be sent now, and with other errors if the disk fails. */
export interface FileSender {
  /** Sends the kept copy of the file, if it differs from the file now on disk, and then that one. */
  sendFile(file: WaitingFile): Promise<void>;
  /** Sends a session that is not a file, under a name. Resolves to false if it could not be read. */
  sendStream(path: string, bytes: Readable): Promise<boolean>;
}

type Encoding = 'gzip' | 'zstd' | undefined;

const DEFAULT_SETTLE_MS = 2000;
const DEFAULT_MAX_SETTLE_WAIT_MS = 15_000;
const HEAD_BYTES = 1024 * 1024;

export function createFileSender(
  { folder, target, decide }: FileSenderDependencies,
  options: FileSenderOptions,
  log: SentLog,
  counts: SendCounts,
): FileSender {
  const { signal, settleMs = DEFAULT_SETTLE_MS, maxSettleWaitMs = DEFAULT_MAX_SETTLE_WAIT_MS } = options;
  const policy = { ...SENDER_RETRIES, firstMs: options.retryDelayMs ?? SENDER_RETRIES.firstMs };
  const retry = createDeliveryRetry(policy, signal);

  /** Runs `work` with a temporary file that is deleted afterwards and that no other user can read. */
  const withTemporary = async <Result>(work: (path: string) => Promise<Result>): Promise<Result> => {
    await mkdir(folder.outgoing, { recursive: true, mode: 0o700 });
    const temporary = join(folder.outgoing, randomUUID());
    try {
      return await work(temporary);
    } finally {
      await rm(temporary, { force: true });
    }
  };

  /** Follows the session's decision, which depends on where its transcript says that it ran. */
  const sendAttachment = async (attachment: KnownAttachment, path: string, source: string): Promise<void> => {
    const decision = await decideAttachment(decide, path, attachment);
    const file = await readSessionFile(source, { earlier: undefined, isSettled: true });
    if (file === undefined) return;
    if (decision.kind === 'nothing') {
      counts.refused += 1;
      return await log.add({ ...toState(path, file, file), transcriptId: null, reason: decision.reason });
    }
    if (decision.kind === 'everything') return await deliverAttachment(attachment, path, { file, read: file });
    await withTemporary(async (temporary) => {
      await pipeline(decision.rewrite(file.open(0)), createWriteStream(temporary, { mode: 0o600 }));
      const read = await readSessionFile(temporary, { earlier: undefined, isSettled: true });
      if (read !== undefined) await deliverAttachment(attachment, path, { file, read });
    });
  };

  const deliverAttachment = async (
    { agent, sessionId, path: inSession }: KnownAttachment,
    path: string,
    { file, read }: { file: ReadFile; read: ReadFile },
  ): Promise<void> => {
    const state = toState(path, file, read);
    const earlier = log.find(path);
    if (earlier?.sha256 === read.sha256 && earlier.transcriptId !== null)
      return await log.add({ ...earlier, ...state });
    const { sizeBytes, sha256 } = read;
    const about = { agent, sessionId, path: inSession, modifiedAtMs: file.modifiedAtMs, sizeBytes, sha256 };
    try {
      const open = () => read.open(0);
      const receipt = await retry(() => target.sendAttachment({ ...about, open }, signal));
      if (receipt.outcome === 'stored') counts.sent += 1;
      else counts.duplicates += 1;
      counts.sentBytes += sizeBytes;
      await log.add({ ...state, transcriptId: receipt.attachmentId });
    } catch (error) {
      if (!(error instanceof DeliveryError) || error.code !== 'rejected') throw error;
      counts.refused += 1;
      await log.add({ ...state, transcriptId: null, reason: error.message });
    }
  };

  const sendSource = async ({ path, agent }: WaitingFile, source: string, isSettled: boolean): Promise<void> => {
    const attachment = identifyAttachment(path);
    if (attachment !== undefined) return await sendAttachment(attachment, path, source);
    const encoding = toEncoding(path);
    const name = path.replace(/\.(zst|gz)$/, '');
    const earlier = log.find(path);
    const decision = decide?.(name, await readHead(source, encoding)) ?? { kind: 'everything' };
    const isWhole = isSettled || encoding !== undefined;
    if (decision.kind === 'everything') {
      const read = await readSessionFile(source, { earlier: toSent(earlier), isSettled: isWhole });
      return read && (await deliver({ path, agent }, { name, encoding, file: read, read }));
    }
    const file = await readSessionFile(source, { earlier: undefined, isSettled: isWhole });
    if (file === undefined) return;
    if (decision.kind === 'nothing') {
      counts.refused += 1;
      return await log.add({ ...toState(path, file, file), transcriptId: null, reason: decision.reason });
    }
    await withTemporary(async (temporary) => {
      try {
        const plain = encoding === undefined ? file.open(0) : decompress(createReadStream(source), encoding);
        await pipeline(decision.rewrite(plain), createWriteStream(temporary, { mode: 0o600 }));
      } catch (error) {
        if (!(error instanceof SourceError)) throw error;
        counts.refused += 1;
        return await log.add({ ...toState(path, file, file), transcriptId: null, reason: error.message });
      }
      const read = await readSessionFile(temporary, { earlier: toSent(earlier), isSettled: true });
      if (read !== undefined) await deliver({ path, agent }, { name, encoding: undefined, file, read });
    });
  };

  /** `file` is the file on disk, `read` what is sent of it. */
  const deliver = async (
    { path, agent }: WaitingFile,
    { name, encoding, file, read }: { name: string; encoding: Encoding; file: ReadFile; read: ReadFile },
  ): Promise<void> => {
    const earlier = log.find(path);
    const state = toState(path, file, read);
    const { sizeBytes, sha256, open } = read;
    const known = earlier?.sha256 === sha256 ? earlier : log.findMoved(path, sha256);
    // A rejected file is sent again only on request, not merely because it was touched.
    if (known !== undefined && known.transcriptId !== null) return await log.add({ ...known, ...state });
    const base =
      read.isContinued && earlier?.transcriptId != null && encoding === undefined
        ? { transcriptId: earlier.transcriptId, sizeBytes: earlier.sentBytes ?? earlier.sizeBytes }
        : undefined;
    const delivery = { path: name, agent, sizeBytes, sha256, encoding, base, open };
    try {
      const receipt = await retry(() => target.send(delivery, signal));
      if (receipt.isDuplicate) counts.duplicates += 1;
      else counts.sent += 1;
      counts.sentBytes += sizeBytes - receipt.sentFromByte;
      await log.add({ ...state, transcriptId: receipt.transcript.transcriptId });
    } catch (error) {
      if (!(error instanceof DeliveryError) || error.code !== 'rejected') throw error;
      counts.refused += 1;
      await log.add({ ...state, transcriptId: null, reason: error.message });
    }
  };

  const sendSettled = async (file: WaitingFile, source: string): Promise<void> => {
    const settled = await waitUntilSettled(source, { settleMs, maxWaitMs: maxSettleWaitMs, signal });
    if (settled !== undefined) await sendSource(file, source, settled.isSettled);
  };

  return {
    async sendFile(file) {
      const kept = toKeptPath(folder, file.path);
      const [keptStats, stats] = await Promise.all([kept, file.path].map((path) => stat(path).catch(() => undefined)));
      if (keptStats !== undefined && keptStats.ino !== stats?.ino) await sendSettled(file, kept);
      if (stats !== undefined) await sendSettled(file, file.path);
      await removeWaiting(folder, file.path);
    },
    sendStream: (path, bytes) =>
      withTemporary(async (temporary) => {
        try {
          await pipeline(bytes, createWriteStream(temporary, { mode: 0o600 }));
        } catch (error) {
          if (!(error instanceof SourceError)) throw error;
          return false;
        }
        await sendSource({ path }, temporary, true);
        return true;
      }),
  };
}

/**
 * The part of an attachment that may leave this machine. It is the same as for its session, whose transcript is beside
 * the session's folder. Without that, it is unknown where the session ran.
 */
export async function decideAttachment(
  decide: FileSenderDependencies['decide'],
  path: string,
  { path: inSession }: KnownAttachment,
): Promise<SendDecision> {
  if (decide === undefined) return { kind: 'everything' };
  const transcript = `${path.slice(0, -inSession.length - 1)}.jsonl`;
  const decision = decide(transcript, await readHead(transcript));
  if (decision.kind !== 'rewritten' || decision.takesAttachments) return decision;
  return { kind: 'nothing', reason: `of its session goes ${decision.what}` };
}

/** The last sent state, in the form that `readSessionFile` compares. */
const toSent = (earlier: SentFile | undefined): SentFile | undefined =>
  earlier && { ...earlier, sizeBytes: earlier.sentBytes ?? earlier.sizeBytes };

const toState = (path: string, file: ReadFile, sent: ReadFile): Omit<SentFile, 'transcriptId'> => ({
  path,
  sizeBytes: file.sizeBytes,
  modifiedAtMs: file.modifiedAtMs,
  sha256: sent.sha256,
  ...(sent.sizeBytes !== file.sizeBytes && { sentBytes: sent.sizeBytes }),
});

const toEncoding = (path: string): Encoding =>
  path.endsWith('.zst') ? 'zstd' : path.endsWith('.gz') ? 'gzip' : undefined;

/** The decompressed beginning, up to the first unreadable byte. */
export async function readHead(path: string, encoding = toEncoding(path)): Promise<Buffer> {
  const file = createReadStream(path);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of encoding === undefined ? file : decompress(file, encoding)) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= HEAD_BYTES) break;
    }
  } catch (error) {
    const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (!isGone && !(error instanceof SourceError)) throw error;
  } finally {
    file.destroy();
  }
  return Buffer.concat(chunks).subarray(0, HEAD_BYTES);
}
