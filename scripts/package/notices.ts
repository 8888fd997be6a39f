import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Metafile } from 'esbuild';

/** Every library in the bundle, with its licence as published. */
export async function collectNotices(root: string, { inputs }: Metafile): Promise<string> {
  const folders = new Set<string>(['apps/api/node_modules/@fastify/swagger-ui']);
  for (const path of Object.keys(inputs)) {
    const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
    if (folder !== undefined) folders.add(folder);
  }
  const notices = new Map<string, string>();
  for (const folder of folders) {
    const { name, version, license } = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8')) as Record<
      'name' | 'version' | 'license',
      string
    >;
    if (name === undefined || license === undefined) {
      if (dirname(folder) === folder) continue;
      throw new Error(`${folder} names no licence`);
    }
    notices.set(`${name} ${version}`, `${name} ${version} (${license})\n\n${await readLicence(join(root, folder))}`);
  }
  const rule = `\n\n${'-'.repeat(80)}\n\n`;
  const sorted = [...notices].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, notice]) => notice);
  return `recount's package contains these libraries:${rule}${sorted.join(rule)}\n`;
}

async function readLicence(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.length === 0 ? 'The package names its licence in its package.json alone.' : texts.join('\n\n').trim();
}
