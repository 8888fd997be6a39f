import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { generateTranscript } from '@recount/bench/generate-transcript';
import { IDENTIFY_HEAD_BYTES, identifyTranscript } from '@recount/core';
import { readSources } from '@recount/storage/sources';
import type { Random } from '../random.ts';

/** Something to upload; its bytes can be produced again at any time. */
export interface PlannedUpload {
  path: string | undefined;
  sessionId: string | undefined;
  encoding: 'identity' | 'gzip' | 'zstd';
  /** Pause after each 64 KiB, so that kills hit the middle of uploads. */
  pauseMs: number;
  /** The client aborts after this share of the bytes and does not come back; 1: it does not wait for the answer. */
  givesUpAfter: number | undefined;
  /** No other version of its session is planned. */
  isOnlyVersion: boolean;
  read(): Buffer;
}

export interface UploadPlan {
  next(): PlannedUpload;
  /** Plans the same bytes again, next. */
  repeat(planned: PlannedUpload): void;
}

interface File {
  path: string;
  bytes: Buffer;
}

const LARGE_EVERY = 80;
const LARGE_BYTES = 12_000_000;
const MIN_BYTES = 4000;
const MAX_BYTES = 1_500_000;
const ENCODINGS = ['identity', 'gzip', 'zstd'] as const;

/** The Claude Code transcripts below a folder, without duplicates. */
export async function readTranscriptFiles(root: string): Promise<File[]> {
  const files = new Map<string, File>();
  for await (const item of readSources([root])) {
    if (item.kind !== 'transcript') continue;
    const bytes = await buffer(await item.open());
    const head = bytes.subarray(0, IDENTIFY_HEAD_BYTES);
    const { format, sessionId } = identifyTranscript({ path: item.path, head });
    if (format !== 'claude-code' || sessionId === undefined) continue;
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (!files.has(sha256)) files.set(sha256, { path: item.path, bytes });
  }
  return [...files.values()];
}

/**
 * An endless plan, with the files in random order, mixed with generated sessions, which grow, come as several versions
 * in any order, and twice concurrently; some under a session id that the client names; some that the client gives up.
 */
export function createUploadPlan(files: readonly File[], random: Random): UploadPlan {
  const waiting: Pick<PlannedUpload, 'path' | 'sessionId' | 'isOnlyVersion' | 'read'>[] = random
    .shuffle(files)
    .map(({ path, bytes }) => ({ path, sessionId: undefined, isOnlyVersion: false, read: () => bytes }));
  let generatedCount = 0;

  const planSession = (): typeof waiting => {
    generatedCount += 1;
    const seed = generatedCount;
    const largest =
      generatedCount % LARGE_EVERY === 0
        ? LARGE_BYTES
        : Math.round(MIN_BYTES * (MAX_BYTES / MIN_BYTES) ** random.next());
    const sizes = Array.from({ length: random.integer(1, 3) }, (_, index) => Math.ceil(largest / 2 ** index));
    if (random.chance(0.1)) sizes.push(largest);
    const isOnlyVersion = new Set(sizes).size === 1;
    const sessionId = random.chance(0.1) ? `named-by-the-client-${seed}` : undefined;
    return random.shuffle(sizes).map((targetBytes) => ({
      path: undefined,
      sessionId,
      isOnlyVersion,
      read: () => Buffer.concat([...generateTranscript({ seed, targetBytes })]),
    }));
  };

  return {
    repeat: (planned) => void waiting.unshift(planned),
    next() {
      if (waiting.length === 0 || random.chance(0.5)) waiting.unshift(...planSession());
      const upload = waiting.shift();
      if (upload === undefined) throw new Error('A session has at least one version');
      return {
        ...upload,
        encoding: random.pick(ENCODINGS),
        pauseMs: random.chance(0.2) ? random.integer(5, 60) : 0,
        givesUpAfter: random.chance(0.06) ? random.pick([0.3, 0.9, 1]) : undefined,
      };
    },
  };
}
