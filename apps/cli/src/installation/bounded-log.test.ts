import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createBoundedLog } from './bounded-log.ts';

/** Every write to it fails, as on a full disk. */
const FULL_DEVICE = '/dev/full';

it.skipIf(!existsSync(FULL_DEVICE))('survives a full disk, and says how many lines were lost', () => {
  const directory = mkdtempSync(join(tmpdir(), 'recount-log-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'log');
  symlinkSync(FULL_DEVICE, path);
  const log = createBoundedLog(path);
  log.write('{"msg":"lost"}\n');
  log.write('{"msg":"lost too"}\n');
  rmSync(path);
  log.write('{"msg":"kept"}\n');
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ lostLines: 2, level: 40 }, { msg: 'kept' }]);
});
