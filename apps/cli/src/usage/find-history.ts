import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { type FoundSessions, findSessions, matchFiles } from '@recount/collect';
import type { FoundFile } from '@recount/usage';
import type { CliContext } from '../cli-context.ts';
import { UsageError } from '../cli-error.ts';

export interface History {
  files: FoundFile[];
  /** Labels of agents whose databases are there, and are not read. */
  databases: string[];
}

const TRANSCRIPT_PATTERNS = ['**/*.jsonl', '**/*.jsonl.zst', '**/*.jsonl.gz', '**/*.json'];

/** The transcripts below the paths, or those that the agents of this machine keep. Throws UsageError for a path that is not there. */
export async function findHistory(context: CliContext, paths: readonly string[]): Promise<History> {
  if (paths.length > 0) return { files: await findBelow(context, paths), databases: [] };
  const { environment } = context;
  const machine = { platform: process.platform, environment, homeFolder: environment.HOME || homedir() };
  const found = await findSessions(machine);
  return {
    files: found.filter(({ place }) => place.holds === 'transcripts').flatMap(withDenied),
    databases: found
      .filter(({ place, files }) => place.holds === 'database' && files.length > 0)
      .map(({ agent }) => agent.label),
  };
}

/** What there is no permission to look into fails where it is read, and is counted so. */
function withDenied({ files, denied }: FoundSessions): FoundFile[] {
  return [...files, ...denied.map(toDeniedFile)];
}

const toDeniedFile = (path: string): FoundFile => ({ path, sizeBytes: 0, modifiedAtMs: 0 });

async function findBelow({ workingDirectory }: CliContext, paths: readonly string[]): Promise<FoundFile[]> {
  const files = new Map<string, FoundFile>();
  for (const given of paths) {
    const path = resolve(workingDirectory, given);
    const stats = await stat(path).catch(() => undefined);
    if (stats === undefined) throw new UsageError(`${given}: there is no such file or folder.`);
    if (!stats.isDirectory()) {
      files.set(path, { path, sizeBytes: stats.size, modifiedAtMs: stats.mtimeMs });
      continue;
    }
    for (const pattern of TRANSCRIPT_PATTERNS)
      for await (const file of matchFiles(path, pattern, (denied) => files.set(denied, toDeniedFile(denied))))
        files.set(file.path, file);
  }
  return [...files.values()];
}
