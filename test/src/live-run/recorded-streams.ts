import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

const AGENTS: readonly (readonly [prefix: string, agent: 'claude' | 'codex' | 'amp'])[] = [
  ['claude-stream-json__', 'claude'],
  ['codex-exec__', 'codex'],
  ['amp__', 'amp'],
];

export interface RecordedStream {
  /** The command that wrote it. */
  agent: 'claude' | 'codex' | 'amp';
  /** For people. */
  name: string;
  path: string;
}

/** Unpacks all recorded streams of a corpus below a folder. */
export function unpackStreams(corpus: string, folder: string): RecordedStream[] {
  const archives = readdirSync(corpus).filter((name) => name.endsWith('.tar.gz'));
  return archives.flatMap((archive, index) => {
    const [, agent] = AGENTS.find(([prefix]) => archive.startsWith(prefix)) ?? [];
    if (agent === undefined) return [];
    const target = join(folder, String(index));
    execFileSync('mkdir', ['-p', target]);
    execFileSync('tar', ['-xzf', join(corpus, archive), '-C', target]);
    // Not a glob, because some folders begin with a dot.
    const files = readdirSync(target, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    return files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return { agent, name: `${archive} ${relative(target, path)}`, path };
    });
  });
}
