import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { provideDashboard } from '@recount/cli/dashboard';
import { beforeAll, describe, expect, it } from 'vitest';

/** Gzipped size of everything loaded to show a page. */
const MAX_FIRST_LOAD_BYTES = 150_000;

interface Chunk {
  file: string;
  css?: string[];
  /** Loaded with it; `dynamicImports` are loaded on demand. */
  imports?: string[];
}
type Manifest = Record<string, Chunk>;

let directory: string;
let manifest: Manifest;

beforeAll(async () => {
  directory = (await provideDashboard(() => undefined)) ?? '';
  manifest = JSON.parse(await readFile(join(directory, '.vite/manifest.json'), 'utf8')) as Manifest;
});

function collectFiles(name: string, files = new Set<string>()): Set<string> {
  const chunk = manifest[name];
  if (chunk === undefined) throw new Error(`${name} is not in the manifest`);
  for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
  for (const each of chunk.imports ?? []) collectFiles(each, files);
  return files;
}

async function measure(files: Iterable<string>): Promise<number> {
  let bytes = 0;
  for (const file of files) {
    const path = join(directory, file);
    bytes += (await readFile(`${path}.gz`).catch(() => readFile(path))).length;
  }
  return bytes;
}

describe('the first load of a page', () => {
  it('is small, for every page', async () => {
    const pages = Object.keys(manifest).filter((name) => name.endsWith('-page.tsx'));
    expect(pages.length).toBeGreaterThanOrEqual(9);
    for (const page of pages) {
      const bytes = await measure(collectFiles(page, collectFiles('index.html')));
      expect(bytes, page).toBeLessThan(MAX_FIRST_LOAD_BYTES);
    }
  });

  it('contains neither the formatters for Markdown, diffs and code nor dialogs', () => {
    const files = collectFiles('src/pages/session/session-page.tsx', collectFiles('index.html'));
    for (const name of [
      'transcript/formatted-markdown.tsx',
      'transcript/edited-text.tsx',
      'transcript/highlight.ts',
      'ui/dialog.tsx',
    ])
      expect(files, name).not.toContain(manifest[`src/${name}`]?.file);
  });
});
