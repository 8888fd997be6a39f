import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readSources } from '@recount/storage/sources';
import { countTranscriptMembers, toBombs, writeChunks, writeTarGz, writeZip } from './write-archives.ts';

export interface ArchiveCheck {
  name: string;
  seconds: number;
  /** Counts by `failed CODE`, `skipped REASON` or `transcript`. */
  outcomes: Record<string, number>;
  decodedBytes: number;
  /** Violated expectations. */
  violations: string[];
}

/** Reads an archive with this many members of all kinds. */
export async function checkManyMembers(kind: 'tar' | 'zip', memberCount: number): Promise<ArchiveCheck> {
  return await inTemporaryFolder(async (folder) => {
    const path = join(folder, kind === 'tar' ? 'many.tar.gz' : 'many.zip');
    await (kind === 'tar' ? writeTarGz : writeZip)(path, memberCount);
    const check = await readThrough(path);
    const { outcomes, violations } = check;
    const transcripts = outcomes.transcript ?? 0;
    const expected = countTranscriptMembers(memberCount);
    if (transcripts !== expected) violations.push(`${transcripts} transcripts instead of ${expected}`);
    if (Object.keys(outcomes).some((name) => name.startsWith('failed'))) violations.push('a member failed');
    await checkNothingWritten(folder, violations);
    return check;
  });
}

/** One more member than allowed. Earlier ones are read, followed by an error that says so. */
export async function checkTooManyMembers(kind: 'tar' | 'zip', maxArchiveEntries: number): Promise<ArchiveCheck> {
  return await inTemporaryFolder(async (folder) => {
    const path = join(folder, kind === 'tar' ? 'many.tar.gz' : 'many.zip');
    await (kind === 'tar' ? writeTarGz : writeZip)(path, maxArchiveEntries + 1);
    const check = await readThrough(path, { maxArchiveEntries });
    if (check.outcomes['failed limit-exceeded'] !== 1) check.violations.push('no limit-exceeded');
    if (check.outcomes.transcript !== countTranscriptMembers(maxArchiveEntries)) check.violations.push('members lost');
    return check;
  });
}

/** Archives and compressed files that decode to a thousand times their size and more. */
export async function checkBombs(decodedBytes: number): Promise<ArchiveCheck[]> {
  const checks: ArchiveCheck[] = [];
  for (const [name, toChunks] of Object.entries(toBombs(decodedBytes))) {
    checks.push(
      await inTemporaryFolder(async (folder) => {
        await writeChunks(join(folder, name), toChunks());
        const check = await readThrough(join(folder, name));
        const { outcomes, violations } = check;
        const isRefused = 'failed limit-exceeded' in outcomes || 'failed corrupt' in outcomes;
        if (!isRefused) violations.push('not refused');
        if (check.decodedBytes > MAX_DECODED_BYTES) violations.push('decoded too far');
        await checkNothingWritten(folder, violations);
        return check;
      }),
    );
  }
  return checks;
}

/** 500 times the 256 KiB that are read at a time, plus one chunk. */
const MAX_DECODED_BYTES = 501 * 256 * 1024;

async function readThrough(path: string, limits: { maxArchiveEntries?: number } = {}): Promise<ArchiveCheck> {
  const startedAtMs = performance.now();
  const outcomes: Record<string, number> = {};
  const violations: string[] = [];
  let decodedBytes = 0;
  const add = (outcome: string): void => {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  for await (const item of readSources([path], { limits })) {
    if (item.kind === 'skipped') add(`skipped ${item.reason}`);
    else if (item.kind === 'failed') add(`failed ${item.error.code}`);
    else {
      if (item.location.includes('!') && /^\/|(?:^|\/)\.\.(?:\/|$)/.test(item.path))
        violations.push('a path that leads out of the archive');
      try {
        for await (const chunk of await item.open()) decodedBytes += (chunk as Buffer).length;
        add('transcript');
      } catch (error) {
        add(`failed ${(error as { code?: string }).code}`);
      }
    }
  }
  const seconds = (performance.now() - startedAtMs) / 1000;
  return { name: path.slice(path.lastIndexOf('/') + 1), seconds, outcomes, decodedBytes, violations };
}

async function checkNothingWritten(folder: string, violations: string[]): Promise<void> {
  if ((await readdir(folder)).length !== 1) violations.push('files beside the archive');
}

/** A folder that is removed afterwards. */
export async function inTemporaryFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'recount-hostile-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
