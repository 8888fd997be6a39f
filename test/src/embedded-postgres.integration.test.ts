import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { dropDatabase } from '@recount/local-postgres';
import { expect, onTestFinished, test } from 'vitest';
import { PARENTS, startEmbeddedPostgres } from './embedded-postgres.ts';

test('the server of a killed test run is stopped and removed by the next run', async () => {
  const moduleUrl = pathToFileURL(join(import.meta.dirname, 'embedded-postgres.ts')).href;
  const script = `const { startEmbeddedPostgres } = await import(${JSON.stringify(moduleUrl)});
    console.log((await startEmbeddedPostgres()).serverUrl);`;
  const killed = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [serverUrl] = await once(killed.stdout, 'data');
  killed.kill('SIGKILL');
  await once(killed, 'exit');
  const ping = () => dropDatabase(String(serverUrl).trim(), 'not_there');
  await ping();

  const server = await startEmbeddedPostgres();
  onTestFinished(() => server.stop());
  await expect(ping()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  const directories = (await Promise.all(PARENTS.map((parent) => readdir(parent).catch(() => [])))).flat();
  expect(directories).not.toContainEqual(expect.stringContaining(`recount-test-postgres-${killed.pid}-`));
  expect(directories).toContainEqual(expect.stringContaining(`recount-test-postgres-${process.pid}-`));
});
