import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findBuiltDashboard, hashSources } from './build-dashboard.ts';

let web: string;
let cache: string;

beforeEach(async () => {
  web = join(await mkdtemp(join(tmpdir(), 'recount-web-')), 'apps', 'web');
  cache = join(web, 'node_modules', '.cache', 'dashboard');
  await mkdir(join(web, 'src'), { recursive: true });
  await writeFile(join(web, 'index.html'), '<!doctype html>');
  await writeFile(join(web, 'src', 'main.tsx'), 'main();');
});
afterEach(() => rm(join(web, '..', '..'), { recursive: true }));

it('finds the dashboard that was built from these sources', async () => {
  const built = join(cache, await hashSources(web));
  await mkdir(built, { recursive: true });
  expect(await findBuiltDashboard(web)).toBe(built);
});

it('finds none before the first build', async () => {
  expect(await findBuiltDashboard(web)).toBeUndefined();
});

it('finds none that was built from other sources, or that is not finished', async () => {
  const built = join(cache, await hashSources(web));
  await mkdir(built, { recursive: true });
  await writeFile(join(web, 'src', 'main.tsx'), 'changed();');
  expect(await findBuiltDashboard(web)).toBeUndefined();
  await rename(built, `${join(cache, await hashSources(web))}.4711`);
  expect(await findBuiltDashboard(web)).toBeUndefined();
});
