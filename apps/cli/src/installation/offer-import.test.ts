import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { type DataDirectory, toDataDirectory } from '../data-directory/data-directory.ts';
import { createFakeContext, type FakeContext } from '../testing/fake-context.ts';
import { chooseImport } from './offer-import.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-import-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
});

async function writeSessions(): Promise<string[]> {
  const project = join(home, '.claude/projects/-home-ada-app');
  const rollouts = join(home, '.codex/sessions/2026/11/02');
  const paths = [join(project, 'old.jsonl'), join(project, 'new.jsonl'), join(rollouts, 'rollout-2026-11-02-a.jsonl')];
  for (const [day, path] of paths.entries()) {
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, 'x'.repeat(1000 * (day + 1)));
    await utimes(path, day, day);
  }
  return paths;
}

function createContext(answer?: string): FakeContext & { directory: DataDirectory } {
  const environment = { HOME: home, RECOUNT_DATA_DIR: home };
  const context = createFakeContext({ environment, columns: 100, ...(answer !== undefined && { stdin: answer }) });
  if (answer !== undefined) Object.assign(context.stdin, { isTTY: true });
  return Object.assign(context, { directory: toDataDirectory(context) });
}

it('asks once, with agents and sizes, and imports the latest sessions first', async () => {
  const [oldest, middle, latest] = await writeSessions();
  const context = createContext('\n');
  expect(await chooseImport(context, context.directory, undefined)).toEqual([latest, middle, oldest]);
  expect(context.err()).toMatch(
    /^FOUND +FILES +SIZE\n(Codex +1 +3\.0 kB\nClaude Code|Claude Code +2 +3\.0 kB\nCodex) /,
  );
  expect(context.err()).toContain('Import these 3 files (6.0 kB)? [Y/n]');
  const second = createContext('\n');
  expect(await chooseImport(second, second.directory, undefined)).toEqual([]);
  expect(second.err()).toBe('');
});

it('imports nothing if the answer is no, and says how to do it later', async () => {
  await writeSessions();
  const context = createContext('n\n');
  expect(await chooseImport(context, context.directory, undefined)).toEqual([]);
  expect(context.err()).toMatch(/Nothing is imported\. `\S+ backfill` does it later/);
  expect(existsSync(context.directory.importMark)).toBe(true);
});

it('imports nothing if the input ends without an answer, as with Ctrl-D', async () => {
  await writeSessions();
  const context = createContext('');
  expect(await chooseImport(context, context.directory, undefined)).toEqual([]);
  expect(context.err()).toContain('Nothing is imported.');
});

it('asks nothing without a terminal, but says what it found', async () => {
  await writeSessions();
  const context = createContext();
  expect(await chooseImport(context, context.directory, undefined)).toEqual([]);
  expect(context.err()).toMatch(/^Found session files of .*Claude Code 2 \(3\.0 kB\).*`\S+ backfill` imports them/);
  expect(existsSync(context.directory.importMark)).toBe(false);
});

it('obeys both flags without a question', async () => {
  const paths = await writeSessions();
  const context = createContext();
  expect(await chooseImport(context, context.directory, false)).toEqual([]);
  expect(await chooseImport(context, context.directory, true)).toHaveLength(paths.length);
  expect(context.err()).toBe('');
});

it('is silent if no agent has sessions, unless the import was demanded', async () => {
  const context = createContext('\n');
  expect(await chooseImport(context, context.directory, undefined)).toEqual([]);
  expect(context.err()).toBe('');
  expect(await chooseImport(context, context.directory, true)).toEqual([]);
  expect(context.err()).toContain('No sessions found');
});
