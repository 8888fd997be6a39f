import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { identifyAttachment, type KnownAttachment } from '@recount/core';
import { SourceError } from '@recount/storage/sources';
import { decompress } from '@recount/storage/sources/decompress';
import { readBeginning } from '../find/read-beginning.ts';
import { createRepositoryReader } from '../find/read-repository.ts';
import type { SentFile, SentLog } from '../spool/sent-log.ts';
import { removeWaiting, type SpoolFolder, toKeptPath, type WaitingFile } from '../spool/spool-folder.ts';
import { DeliveryError } from './delivery-error.ts';
import { createDeliveryRetry, type DeliveryRetry, SENDER_RETRIES } from './delivery-retry.ts';
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

type Encoding = 'gzip' | 'zstd' | undefined;

/** A file as it was sent, without what became of it. */
type SentState = Omit<SentFile, 'transcriptId'>;

/** A transcript's file that has been read, and what is sent of it. */
interface ReadTranscript {
  /** Its path at the agent, without a compression extension. */
  name: string;
  /** The file that the sent bytes are in. */
  source: string;
  encoding: Encoding;
  file: ReadFile;
  read: ReadFile;
}

const DEFAULT_SETTLE_MS = 2000;
const DEFAULT_MAX_SETTLE_WAIT_MS = 15_000;
const HEAD_BYTES = 1024 * 1024;
/** Nearly all sessions state in their first lines where they run. */
const LOOK_BYTES = 64 * 1024;

/**
 * Sends one session after another. Both ways reject with a DeliveryError if nothing more can be sent now, and with other
 * errors if the disk fails.
 */
export class FileSender {
  readonly #deps: FileSenderDependencies;
  readonly #options: FileSenderOptions;
  readonly #log: SentLog;
  readonly #counts: SendCounts;
  readonly #retry: DeliveryRetry;
  readonly #readRepository = createRepositoryReader();

  constructor(deps: FileSenderDependencies, options: FileSenderOptions, log: SentLog, counts: SendCounts) {
    this.#deps = deps;
    this.#options = options;
    this.#log = log;
    this.#counts = counts;
    const policy = { ...SENDER_RETRIES, firstMs: options.retryDelayMs ?? SENDER_RETRIES.firstMs };
    this.#retry = createDeliveryRetry(policy, options.signal);
  }

  /** Sends the kept copy of the file, if it differs from the file now on disk, and then that one. */
  async sendFile(file: WaitingFile): Promise<void> {
    const { folder } = this.#deps;
    const kept = toKeptPath(folder, file.path);
    const [keptStats, stats] = await Promise.all([kept, file.path].map((path) => stat(path).catch(() => undefined)));
    if (keptStats !== undefined && keptStats.ino !== stats?.ino) await this.#sendSettled(file, kept);
    if (stats !== undefined) await this.#sendSettled(file, file.path);
    await removeWaiting(folder, file.path);
  }

  /** Sends a session that is not a file, under a name. Resolves to false if it could not be read. */
  async sendStream(path: string, bytes: Readable): Promise<boolean> {
    return await this.#withTemporary(async (temporary) => {
      try {
        await pipeline(bytes, createWriteStream(temporary, { mode: 0o600 }));
      } catch (error) {
        if (!(error instanceof SourceError)) throw error;
        return false;
      }
      await this.#sendSource({ path }, temporary, true);
      return true;
    });
  }

  async #sendSettled(file: WaitingFile, source: string): Promise<void> {
    const { settleMs = DEFAULT_SETTLE_MS, maxSettleWaitMs = DEFAULT_MAX_SETTLE_WAIT_MS, signal } = this.#options;
    const settled = await waitUntilSettled(source, { settleMs, maxWaitMs: maxSettleWaitMs, signal });
    if (settled !== undefined) await this.#sendSource(file, source, settled.isSettled);
  }

  async #sendSource({ path, agent }: WaitingFile, source: string, isSettled: boolean): Promise<void> {
    const attachment = identifyAttachment(path);
    if (attachment !== undefined) return await this.#sendAttachment(attachment, path, source);
    const encoding = toEncoding(path);
    const name = path.replace(/\.(zst|gz)$/, '');
    const earlier = this.#log.find(path);
    const decision = this.#deps.decide?.(name, await readHead(source, encoding)) ?? { kind: 'everything' };
    const isWhole = isSettled || encoding !== undefined;
    if (decision.kind === 'everything') {
      const read = await readSessionFile(source, { earlier: toSent(earlier), isSettled: isWhole });
      return read && (await this.#deliver({ path, agent }, { name, source, encoding, file: read, read }));
    }
    const file = await readSessionFile(source, { earlier: undefined, isSettled: isWhole });
    if (file === undefined) return;
    if (decision.kind === 'nothing') return await this.#refuse(toState(path, file, file), decision.reason);
    await this.#withTemporary(async (temporary) => {
      try {
        const plain = encoding === undefined ? file.open(0) : decompress(createReadStream(source), encoding);
        await pipeline(decision.rewrite(plain), createWriteStream(temporary, { mode: 0o600 }));
      } catch (error) {
        if (!(error instanceof SourceError)) throw error;
        return await this.#refuse(toState(path, file, file), error.message);
      }
      const read = await readSessionFile(temporary, { earlier: toSent(earlier), isSettled: true });
      if (read === undefined) return;
      await this.#deliver({ path, agent }, { name, source: temporary, encoding: undefined, file, read });
    });
  }

  async #deliver({ path, agent }: WaitingFile, { name, source, encoding, file, read }: ReadTranscript): Promise<void> {
    const earlier = this.#log.find(path);
    const state = toState(path, file, read);
    const { sizeBytes, sha256, open } = read;
    const known = earlier?.sha256 === sha256 ? earlier : this.#log.findMoved(path, sha256);
    // A rejected file is sent again only on request, not merely because it was touched.
    if (known !== undefined && known.transcriptId !== null) return await this.#log.add({ ...known, ...state });
    const base =
      read.isContinued && earlier?.transcriptId != null && encoding === undefined
        ? { transcriptId: earlier.transcriptId, sizeBytes: earlier.sentBytes ?? earlier.sizeBytes }
        : undefined;
    const { workingDirectory } = readBeginning(name, await readHead(source, encoding, LOOK_BYTES));
    const found = workingDirectory === null ? undefined : await this.#readRepository(workingDirectory);
    const delivery = { path: name, agent, ...found, sizeBytes, sha256, encoding, base, open };
    await this.#logDelivery(state, async () => {
      const receipt = await this.#retry(() => this.#deps.target.send(delivery, this.#options.signal));
      this.#count(receipt.isDuplicate, sizeBytes - receipt.sentFromByte);
      return receipt.transcript.transcriptId;
    });
  }

  /** Follows the session's decision, which depends on where its transcript says that it ran. */
  async #sendAttachment(attachment: KnownAttachment, path: string, source: string): Promise<void> {
    const decision = await decideAttachment(this.#deps.decide, path, attachment);
    const file = await readSessionFile(source, { earlier: undefined, isSettled: true });
    if (file === undefined) return;
    if (decision.kind === 'nothing') return await this.#refuse(toState(path, file, file), decision.reason);
    if (decision.kind === 'everything') return await this.#deliverAttachment(attachment, path, { file, read: file });
    await this.#withTemporary(async (temporary) => {
      await pipeline(decision.rewrite(file.open(0)), createWriteStream(temporary, { mode: 0o600 }));
      const read = await readSessionFile(temporary, { earlier: undefined, isSettled: true });
      if (read !== undefined) await this.#deliverAttachment(attachment, path, { file, read });
    });
  }

  async #deliverAttachment(
    { agent, sessionId, path: inSession }: KnownAttachment,
    path: string,
    { file, read }: Pick<ReadTranscript, 'file' | 'read'>,
  ): Promise<void> {
    const state = toState(path, file, read);
    const earlier = this.#log.find(path);
    if (earlier?.sha256 === read.sha256 && earlier.transcriptId !== null)
      return await this.#log.add({ ...earlier, ...state });
    const { sizeBytes, sha256 } = read;
    const about = { agent, sessionId, path: inSession, modifiedAtMs: file.modifiedAtMs, sizeBytes, sha256 };
    const delivery = { ...about, open: () => read.open(0) };
    await this.#logDelivery(state, async () => {
      const receipt = await this.#retry(() => this.#deps.target.sendAttachment(delivery, this.#options.signal));
      this.#count(receipt.outcome !== 'stored', sizeBytes);
      return receipt.attachmentId;
    });
  }

  #count(isDuplicate: boolean, sentBytes: number): void {
    if (isDuplicate) this.#counts.duplicates += 1;
    else this.#counts.sent += 1;
    this.#counts.sentBytes += sentBytes;
  }

  /** Logs the id that `deliver` resolves to, or the reason why the server rejected it. */
  async #logDelivery(state: SentState, deliver: () => Promise<string>): Promise<void> {
    try {
      await this.#log.add({ ...state, transcriptId: await deliver() });
    } catch (error) {
      if (!(error instanceof DeliveryError) || error.code !== 'rejected') throw error;
      await this.#refuse(state, error.message);
    }
  }

  async #refuse(state: SentState, reason: string): Promise<void> {
    this.#counts.refused += 1;
    await this.#log.add({ ...state, transcriptId: null, reason });
  }

  /** Runs `work` with a temporary file that is deleted afterwards and that no other user can read. */
  async #withTemporary<Result>(work: (path: string) => Promise<Result>): Promise<Result> {
    const { outgoing } = this.#deps.folder;
    await mkdir(outgoing, { recursive: true, mode: 0o700 });
    const temporary = join(outgoing, randomUUID());
    try {
      return await work(temporary);
    } finally {
      await rm(temporary, { force: true });
    }
  }
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

const toState = (path: string, file: ReadFile, sent: ReadFile): SentState => ({
  path,
  sizeBytes: file.sizeBytes,
  modifiedAtMs: file.modifiedAtMs,
  sha256: sent.sha256,
  ...(sent.sizeBytes !== file.sizeBytes && { sentBytes: sent.sizeBytes }),
});

const toEncoding = (path: string): Encoding =>
  path.endsWith('.zst') ? 'zstd' : path.endsWith('.gz') ? 'gzip' : undefined;

/** The decompressed beginning, up to the first unreadable byte. */
export async function readHead(path: string, encoding = toEncoding(path), maxBytes = HEAD_BYTES): Promise<Buffer> {
  const file = createReadStream(path);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of encoding === undefined ? file : decompress(file, encoding)) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxBytes) break;
    }
  } catch (error) {
    const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (!isGone && !(error instanceof SourceError)) throw error;
  } finally {
    file.destroy();
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}
