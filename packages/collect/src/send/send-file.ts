import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { identifyAttachment, type KnownAttachment } from '@recount/core';
import { SourceError } from '@recount/storage/sources';
import { decompress } from '@recount/storage/sources/decompress';
import type { SentFile, SentLog } from '../spool/sent-log.ts';
import { removeWaiting, type SpoolFolder, toKeptPath, type WaitingFile } from '../spool/spool-folder.ts';
import { type ReadFile, readSessionFile, waitUntilSettled } from './read-session-file.ts';
import { DeliveryError, type SessionTarget } from './session-target.ts';

/** What of a session may leave this machine. */
export type Disclosure =
  | { kind: 'everything' }
  | { kind: 'nothing'; reason: string }
  /** Other bytes than the agent's, which begin alike when more is added. */
  | {
      kind: 'rewritten';
      what: string;
      rewrite(source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
      /** Whether the session's attachments may leave it as well, rewritten in the same way. */
      takesAttachments: boolean;
    };

export interface FileSenderDependencies {
  folder: SpoolFolder;
  target: SessionTarget;
  /** Decides by the name of the session's file and its first bytes, 1 MiB if there are so many. Default: everything. */
  decide?: ((path: string, head: Buffer) => Disclosure) | undefined;
}

export interface FileSenderOptions {
  /** Default 2000. */
  settleMs?: number | undefined;
  /** How long a file is waited for that never rests, before its whole lines are sent. Default 15,000. */
  maxSettleWaitMs?: number | undefined;
  /** Before a second attempt at a file; twice as long before the third. Default 1000. */
  retryDelayMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** What was done, counted up. */
export interface SendCounts {
  sent: number;
  duplicates: number;
  refused: number;
  sentBytes: number;
}

/** Both reject with a DeliveryError where nothing more can be sent now, and otherwise where the disk fails. */
export interface FileSender {
  /** Sends what was kept of the file, if it is not the file that lies there now, and then that one. */
  sendFile(file: WaitingFile): Promise<void>;
  /** Sends a session that is no file, under a name. False where it could not be read. */
  sendStream(path: string, bytes: Readable): Promise<boolean>;
}

type Encoding = 'gzip' | 'zstd' | undefined;

const DEFAULT_SETTLE_MS = 2000;
const DEFAULT_RETRY_DELAY_MS = 1000;
const DEFAULT_MAX_SETTLE_WAIT_MS = 15_000;
const MAX_ATTEMPTS = 3;
const HEAD_BYTES = 1024 * 1024;

export function createFileSender(
  { folder, target, decide }: FileSenderDependencies,
  options: FileSenderOptions,
  log: SentLog,
  counts: SendCounts,
): FileSender {
  const { signal, settleMs = DEFAULT_SETTLE_MS, maxSettleWaitMs = DEFAULT_MAX_SETTLE_WAIT_MS } = options;

  /** With a file that is gone afterwards, and whose bytes nobody else can read. */
  const withTemporary = async <Result>(work: (path: string) => Promise<Result>): Promise<Result> => {
    await mkdir(folder.outgoing, { recursive: true, mode: 0o700 });
    const temporary = join(folder.outgoing, randomUUID());
    try {
      return await work(temporary);
    } finally {
      await rm(temporary, { force: true });
    }
  };

  /** By what may be sent of the session: its transcript says where it ran. */
  const sendAttachment = async (attachment: KnownAttachment, path: string, source: string): Promise<void> => {
    const disclosure = await discloseAttachment(decide, path, attachment);
    const file = await readSessionFile(source, { earlier: undefined, isSettled: true });
    if (file === undefined) return;
    if (disclosure.kind === 'nothing') {
      counts.refused += 1;
      return await log.add({ ...toState(path, file, file), transcriptId: null, reason: disclosure.reason });
    }
    if (disclosure.kind === 'everything') return await deliverAttachment(attachment, path, { file, read: file });
    await withTemporary(async (temporary) => {
      await pipeline(disclosure.rewrite(file.open(0)), createWriteStream(temporary, { mode: 0o600 }));
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
      const receipt = await retry(options, () => target.sendAttachment({ ...about, open }, signal));
      if (receipt.isDuplicate) counts.duplicates += 1;
      else counts.sent += 1;
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
    const disclosure = decide?.(name, await readHead(source, encoding)) ?? { kind: 'everything' };
    const isWhole = isSettled || encoding !== undefined;
    if (disclosure.kind === 'everything') {
      const read = await readSessionFile(source, { earlier: toSent(earlier), isSettled: isWhole });
      return read && (await deliver({ path, agent }, { name, encoding, file: read, read }));
    }
    const file = await readSessionFile(source, { earlier: undefined, isSettled: isWhole });
    if (file === undefined) return;
    if (disclosure.kind === 'nothing') {
      counts.refused += 1;
      return await log.add({ ...toState(path, file, file), transcriptId: null, reason: disclosure.reason });
    }
    await withTemporary(async (temporary) => {
      try {
        const plain = encoding === undefined ? file.open(0) : decompress(createReadStream(source), encoding);
        await pipeline(disclosure.rewrite(plain), createWriteStream(temporary, { mode: 0o600 }));
      } catch (error) {
        if (!(error instanceof SourceError)) throw error;
        counts.refused += 1;
        return await log.add({ ...toState(path, file, file), transcriptId: null, reason: error.message });
      }
      const read = await readSessionFile(temporary, { earlier: toSent(earlier), isSettled: true });
      if (read !== undefined) await deliver({ path, agent }, { name, encoding: undefined, file, read });
    });
  };

  /** `file` is what lies on the disk, `read` what is sent of it. */
  const deliver = async (
    { path, agent }: WaitingFile,
    { name, encoding, file, read }: { name: string; encoding: Encoding; file: ReadFile; read: ReadFile },
  ): Promise<void> => {
    const earlier = log.find(path);
    const state = toState(path, file, read);
    const { sizeBytes, sha256, open } = read;
    const known = earlier?.sha256 === sha256 ? earlier : log.findMoved(path, sha256);
    // What was refused is sent again only where it is asked for: a file that was merely touched is not.
    if (known !== undefined && known.transcriptId !== null) return await log.add({ ...known, ...state });
    const base =
      read.isContinued && earlier?.transcriptId != null && encoding === undefined
        ? { transcriptId: earlier.transcriptId, sizeBytes: earlier.sentBytes ?? earlier.sizeBytes }
        : undefined;
    const delivery = { path: name, agent, sizeBytes, sha256, encoding, base, open };
    try {
      const receipt = await retry(options, () => target.send(delivery, signal));
      if (receipt.isDuplicate) counts.duplicates += 1;
      else counts.sent += 1;
      counts.sentBytes += receipt.sentBytes;
      await log.add({ ...state, transcriptId: receipt.transcriptId });
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
 * What of an attachment may leave this machine: as much as of its session, whose transcript lies beside the session's folder. If that
 * is gone, it does not say where it ran.
 */
export async function discloseAttachment(
  decide: FileSenderDependencies['decide'],
  path: string,
  { path: inSession }: KnownAttachment,
): Promise<Disclosure> {
  if (decide === undefined) return { kind: 'everything' };
  const transcript = `${path.slice(0, -inSession.length - 1)}.jsonl`;
  const disclosure = decide(transcript, await readHead(transcript));
  if (disclosure.kind !== 'rewritten' || disclosure.takesAttachments) return disclosure;
  return { kind: 'nothing', reason: `of its session goes ${disclosure.what}` };
}

/** What was sent last, as `readSessionFile` compares it. */
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

/** Decompressed, and as far as it can be. */
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

async function retry<Result>(options: FileSenderOptions, attempt: () => Promise<Result>): Promise<Result> {
  let delayMs = options.retryDelayMs ?? DEFAULT_RETRY_DELAY_MS;
  for (let count = 1; ; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      const isPassing = error instanceof DeliveryError && error.code === 'unavailable';
      if (!isPassing || count >= MAX_ATTEMPTS) throw error;
      await sleep(delayMs, undefined, { signal: options.signal });
      delayMs *= 2;
    }
  }
}
