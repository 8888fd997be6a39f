import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDERS_OF_OTHERS = new Set(['node_modules', '.git', 'dist', '.turbo']);

/** Paths of all Markdown files of the repository, except in hidden folders. */
async function listDocuments(folder: string): Promise<string[]> {
  const paths: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !FOLDERS_OF_OTHERS.has(entry.name) && !entry.name.startsWith('.')) {
      paths.push(...(await listDocuments(path)));
    } else if (entry.isFile() && entry.name.endsWith('.md')) paths.push(path);
  }
  return paths;
}

/** The anchors that GitHub gives a page's headings, in lower case, without punctuation, hyphens for spaces. */
function listAnchors(page: string): string[] {
  const headings = page.replaceAll(/^```.*?^```/gms, '').matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Why a link is broken, or `undefined` if it is not. */
async function findFault(page: string, link: string): Promise<string | undefined> {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : resolve(dirname(page), path);
  const found = await stat(target).catch(() => undefined);
  if (found === undefined) return 'no such file';
  if (anchor === undefined || !found.isFile()) return undefined;
  return listAnchors(await readFile(target, 'utf8')).includes(anchor) ? undefined : 'no such heading';
}

it('links of the documents lead to existing files and headings', async () => {
  const faults: string[] = [];
  let linkCount = 0;
  for (const page of await listDocuments(ROOT)) {
    for (const [, link = ''] of (await readFile(page, 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      linkCount += 1;
      const fault = await findFault(page, link);
      if (fault !== undefined) faults.push(`${relative(ROOT, page)}: ${link}: ${fault}`);
    }
  }
  expect(faults).toEqual([]);
  expect(linkCount).toBeGreaterThan(100);
});
