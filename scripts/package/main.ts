import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bundle } from './bundle.ts';
import { writeDeclarations } from './declarations.ts';
import { collectNotices } from './notices.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const staging = join(root, 'dist', 'package');

/** Kept where the repository has them, because sources compute their paths (bundle.ts). */
const ASSETS = ['drizzle', 'samples', 'apps/api/openapi.json', 'apps/web/dist', 'LICENSE', 'CHANGELOG.md'];
/** Needed only for development. */
const NOT_COPIED = /\.map$|_snapshot\.json$/;
const SWAGGER_UI_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js'];

interface Manifest {
  version: string;
  description: string;
  license: string;
  engines: Record<string, string>;
}

/** Builds `dist/recount-<version>.tgz`, the npm package, and prints its path; with --json as JSON. */
async function main(): Promise<void> {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest;
  await rm(staging, { recursive: true, force: true });
  await mkdir(staging, { recursive: true });
  await buildDashboard();
  const metafile = await bundle(root, staging);
  await writeDeclarations(root, staging);
  await copyAssets();
  await writeFile(join(staging, 'THIRD-PARTY-NOTICES.txt'), await collectNotices(root, metafile));
  await writeFile(join(staging, 'package.json'), `${JSON.stringify(await toManifest(manifest), null, 2)}\n`);
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', join(root, 'dist')], {
    cwd: staging,
    shell: process.platform === 'win32',
  });
  const [packed] = JSON.parse(stdout) as { filename: string; size: number; unpackedSize: number }[];
  if (packed === undefined) throw new Error('npm pack made no package');
  const toMb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  const { filename, size, unpackedSize } = packed;
  if (process.argv.includes('--json')) {
    console.log(JSON.stringify({ path: join(root, 'dist', filename), size, unpackedSize }));
    return;
  }
  console.log(`dist/${filename}: ${toMb(size)}, unpacked ${toMb(unpackedSize)}`);
}

/** Runs as a separate process, whose messages go to stderr. */
async function buildDashboard(): Promise<void> {
  const vite = join(root, 'apps/web/node_modules/vite/bin/vite.js');
  await run(process.execPath, [vite, 'build', '--logLevel', 'warn'], { cwd: join(root, 'apps/web') });
}

async function copyAssets(): Promise<void> {
  for (const path of ASSETS) {
    await cp(join(root, path), join(staging, path), { recursive: true, filter: (file) => !NOT_COPIED.test(file) });
  }
  await cp(join(root, 'scripts/package/recount.mjs'), join(staging, 'apps/cli/bin/recount.mjs'));
  await cp(join(root, 'scripts/package/README.md'), join(staging, 'README.md'));
  // From the CLI's own package, only what is read at run time.
  const { version } = JSON.parse(await readFile(join(root, 'apps/cli/package.json'), 'utf8')) as Manifest;
  await writeFile(join(staging, 'apps/cli/package.json'), `${JSON.stringify({ version, type: 'module' })}\n`);
  const { resolve: resolveFromApi } = createRequire(join(root, 'apps/api/package.json'));
  for (const file of SWAGGER_UI_FILES) {
    await cp(resolveFromApi(`@fastify/swagger-ui/static/${file}`), join(staging, 'apps/api/swagger-ui', file));
  }
}

async function toManifest({ version, description, license, engines }: Manifest): Promise<object> {
  const locks = JSON.parse(
    await readFile(join(root, 'packages/local-postgres/node_modules/fs-native-extensions/package.json'), 'utf8'),
  ) as Manifest;
  return {
    name: 'recount',
    version,
    description,
    license,
    keywords: ['claude-code', 'codex', 'coding-agent', 'transcripts', 'usage', 'tokens', 'cost', 'postgres'],
    type: 'module',
    engines,
    bin: { recount: 'apps/cli/bin/recount.mjs' },
    exports: {
      '.': { types: './types/library.d.ts', default: './dist/library.js' },
      './package.json': './package.json',
    },
    sideEffects: false,
    dependencies: { 'fs-native-extensions': locks.version },
  };
}

await main();
