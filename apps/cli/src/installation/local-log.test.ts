import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createBoundedLog } from './bounded-log.ts';
import { createLocalLog } from './local-log.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-log-'));
});
afterEach(() => rm(directory, { recursive: true }));

describe('createBoundedLog', () => {
  it('keeps the last lines, within twice its bound, also of earlier runs', async () => {
    const path = join(directory, 'logs', 'recount.log');
    for (let run = 0; run < 5; run += 1) {
      const log = createBoundedLog(path, 1000);
      for (let index = 0; index < 30; index += 1) log.write(`${run} ${index}${'.'.repeat(40)}\n`);
    }
    const [last, before] = await Promise.all([readFile(path, 'utf8'), readFile(`${path}.1`, 'utf8')]);
    expect(last.length + before.length).toBeLessThan(2100);
    expect(`${before}${last}`).toMatch(/4 28\.+\n4 29\.+\n$/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });
});

describe('createLocalLog', () => {
  it('writes everything to the file, and warnings to the terminal', async () => {
    const path = join(directory, 'recount.log');
    const warnings: string[] = [];
    let nowMs = 0;
    const { logger, writeLine } = createLocalLog(
      path,
      'info',
      (line) => warnings.push(line),
      () => nowMs,
    );
    logger.debug('too much');
    logger.info('as expected');
    logger.warn({ reason: 'Postgres error 53100', transcriptId: '01J' }, 'job failed');
    logger.error({ error: 'gone' }, 'connection error');
    logger.error({ error: 'gone' }, 'connection error');
    nowMs = 10_001;
    logger.error({ error: 'gone' }, 'connection error');
    writeLine('{"level":40,"msg":"of the worker"}');
    writeLine('{"level":30,"msg":"of the worker, too"}');
    writeLine('Segmentation\u001B[31m fault');
    expect(warnings).toEqual([
      'job failed: Postgres error 53100, transcript 01J',
      'connection error: gone',
      'connection error: gone',
      'of the worker',
      'Segmentation[31m fault',
    ]);
    expect((await readFile(path, 'utf8')).trim().split('\n')).toHaveLength(8);
  });
});
