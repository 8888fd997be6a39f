import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { FoundFile, ScannedFile } from './file-scan.ts';
import type { ScanResult } from './scan-files.ts';
import { isSettled } from './settled.ts';
import { type UsageColumns, UsageColumnsWriter } from './usage-columns.ts';

/**
 * Increase it when remembered results would be different today, because of their form, a reader, or a rule of counting.
 * Results of older versions are then ignored.
 */
const MEMORY_VERSION = 8;
const ENDING = '.usage';

interface Shard {
  version: number;
  /** V8's serialization depends on it. */
  nodeVersion: string;
  files: ScannedFile[];
  columns: UsageColumns;
}

/**
 * Results of earlier calls for the files, and which files must be read. A file is identified by its path, size and
 * modification time, a database session by its version. Unreadable parts of the memory are ignored.
 */
export function recallUsage<File extends FoundFile>(
  directory: string,
  files: readonly File[],
): { known: ScanResult; missing: File[] } {
  const wanted = new Map(files.map((file) => [file.path, file]));
  const known: ScannedFile[] = [];
  const columns = new UsageColumnsWriter();
  for (const name of listShards(directory)) {
    const shard = readShard(join(directory, name));
    let from = 0;
    for (const file of shard?.files ?? []) {
      const to = from + file.responseCount;
      const found = wanted.get(file.path);
      if (found !== undefined && isUnchanged(file, found)) {
        known.push(file);
        if (shard !== undefined) columns.addRange(shard.columns, from, to);
        wanted.delete(file.path);
      }
      from = to;
    }
  }
  return { known: { files: known, columns: columns.toColumns() }, missing: [...wanted.values()] };
}

function isUnchanged(one: FoundFile, other: FoundFile): boolean {
  if (one.version !== undefined || other.version !== undefined) return one.version === other.version;
  return one.sizeBytes === other.sizeBytes && one.modifiedAtMs === other.modifiedAtMs;
}

/**
 * Remembers the results for later calls, in one shard for each month of modification. Only the shards with `changed`
 * files are written, without those that may change unnoticed. They contain no transcript text.
 */
export function rememberUsage(
  directory: string,
  { files, columns }: ScanResult,
  changed: readonly FoundFile[],
  startedAtMs: number,
): void {
  const names = new Set(changed.map(toShardName));
  const shards = new Map<string, { files: ScannedFile[]; columns: UsageColumnsWriter }>();
  let from = 0;
  for (const file of files) {
    const name = toShardName(file);
    const to = from + file.responseCount;
    if (
      names.has(name) &&
      file.status !== 'failed' &&
      (file.version !== undefined || isSettled(file.modifiedAtMs, startedAtMs))
    ) {
      const shard = shards.get(name) ?? { files: [], columns: new UsageColumnsWriter() };
      shards.set(name, shard);
      shard.files.push(file);
      shard.columns.addRange(columns, from, to);
    }
    from = to;
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const [name, shard] of shards) {
    const content: Shard = { ...newShard(), files: shard.files, columns: shard.columns.toColumns() };
    writeWhole(join(directory, name), serialize(content));
  }
}

/** Writes atomically. Concurrent readers get the old or the new one. */
function writeWhole(path: string, bytes: Uint8Array): void {
  const temporary = `${path}.${Math.random().toString(36).slice(2)}`;
  try {
    writeFileSync(temporary, bytes, { mode: 0o600 });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

const newShard = () => ({ version: MEMORY_VERSION, nodeVersion: process.versions.v8 });

const toShardName = ({ modifiedAtMs }: FoundFile): string =>
  `${new Date(modifiedAtMs).toISOString().slice(0, 7)}${ENDING}`;

/** Latest month first. */
function listShards(directory: string): string[] {
  try {
    const names = readdirSync(directory);
    return names.filter((name) => name.endsWith(ENDING)).sort((one, other) => (one < other ? 1 : -1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function readShard(path: string): Shard | undefined {
  try {
    const shard = deserialize(readFileSync(path)) as Partial<Shard> | null;
    const { version, nodeVersion } = newShard();
    if (shard?.version !== version || shard.nodeVersion !== nodeVersion) return undefined;
    return shard as Shard;
  } catch {
    return undefined;
  }
}
