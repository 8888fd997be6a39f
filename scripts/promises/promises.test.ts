import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { commandOf } from '../stages.ts';
import { findPromiseFaults } from './find-faults.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8');
const DOCUMENTS = ['reliability.md', 'security.md', 'accuracy.md'];

/** The scripts of package.json whose program the checks of the night start. */
function listNightScripts(): Set<string> {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const checks = read('scripts/checks.ts');
  const isStarted = (command: string) => /^node \S+$/.test(command) && checks.includes(`'${command.slice(5)}'`);
  return new Set(Object.keys(scripts).filter((name) => isStarted(scripts[name] ?? '')));
}

it('every promise of the documents names its test in docs/promises.md, and the command that runs it', () => {
  const faults = findPromiseFaults({
    documents: Object.fromEntries(DOCUMENTS.map((name) => [name, read(`docs/${name}`)])),
    promises: read('docs/promises.md'),
    readTest: (path) => (existsSync(resolve(ROOT, path)) ? read(path) : undefined),
    commandOf,
    nightScripts: listNightScripts(),
  });
  expect(faults.join('\n')).toBe('');
});
