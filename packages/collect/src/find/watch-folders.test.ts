import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { watchFolders } from './watch-folders.ts';

const PATIENCE = { interval: 20 };

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-watch-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
});

async function watch(...patterns: string[]) {
  const seen = new Set<string>();
  const places = patterns.map((pattern) => ({ folder: join(home, 'base'), pattern }));
  const watched = await watchFolders(places, {
    onFile: (path) => seen.add(path.slice(home.length + 6)),
    onLimit: () => undefined,
    onDenied: () => undefined,
  });
  onTestFinished(() => watched.close());
  return { seen, watched };
}

it('reports files that are written to, and no others', async () => {
  await mkdir(join(home, 'base/projects/-app/s/subagents'), { recursive: true });
  await writeFile(join(home, 'base/projects/-app/old.jsonl'), 'a\n');
  const { seen, watched } = await watch('projects/*/*.jsonl', 'projects/*/*/subagents/*.jsonl');
  expect(watched.folderCount).toBe(5);
  await appendFile(join(home, 'base/projects/-app/old.jsonl'), 'b\n');
  await writeFile(join(home, 'base/projects/-app/notes.md'), 'c\n');
  await writeFile(join(home, 'base/projects/-app/s/subagents/agent-1.jsonl'), 'd\n');
  await vi.waitFor(
    () => expect([...seen].sort()).toEqual(['projects/-app/old.jsonl', 'projects/-app/s/subagents/agent-1.jsonl']),
    PATIENCE,
  );
});

it('reports files in folders that are created later, at any depth', async () => {
  await mkdir(join(home, 'base/sessions'), { recursive: true });
  const { seen } = await watch('sessions/**/rollout-*.jsonl');
  await mkdir(join(home, 'base/sessions/2026/11/23'), { recursive: true });
  await writeFile(join(home, 'base/sessions/2026/11/23/rollout-1.jsonl'), 'a\n');
  await vi.waitFor(() => expect([...seen]).toEqual(['sessions/2026/11/23/rollout-1.jsonl']), PATIENCE);
});

it('finds an agent that is installed later, and forgets one that is gone', async () => {
  const { seen, watched } = await watch('projects/*/*.jsonl');
  expect(watched.folderCount).toBe(0);
  await mkdir(join(home, 'base/projects/-app'), { recursive: true });
  await watched.refresh();
  expect(watched.folderCount).toBe(3);
  await writeFile(join(home, 'base/projects/-app/a.jsonl'), 'a\n');
  await vi.waitFor(() => expect([...seen]).toEqual(['projects/-app/a.jsonl']), PATIENCE);
  await rm(join(home, 'base/projects/-app'), { recursive: true });
  await vi.waitFor(() => expect(watched.folderCount).toBe(2), PATIENCE);
});
