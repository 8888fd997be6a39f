import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Writes the library's types into `<directory>/types`, with one declaration file for each source of packages/core that
 * the public ones need. Their imports name `.js` files, which every TypeScript resolver understands.
 */
export async function writeDeclarations(root: string, directory: string): Promise<void> {
  const types = join(directory, 'types');
  const tsc = join(root, 'node_modules/.bin/tsc');
  await promisify(execFile)(tsc, ['-p', join(import.meta.dirname, 'tsconfig.json'), '--outDir', types], { cwd: root });
  const written = new Set(globSync('**/*.d.ts', { cwd: types }).map((path) => join(types, path)));
  for (const path of written) {
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replaceAll(/(from '|import\(['"])(\.{1,2}\/[^'"]*)\.ts(?=['"])/g, '$1$2.js'));
  }
  if (!written.has(join(types, 'library.d.ts'))) throw new Error(`tsc wrote no types to ${dirname(types)}`);
}
