import { appendFile, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { createLocalClock } from '@recount/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FoundFile, StoredFile } from './file-scan.ts';
import { settleLedger } from './local-ledger.ts';
import { scanHistory } from './scan-history.ts';
import { listBlocks } from './usage-blocks.ts';
import { reportUsage, type UsageFilter, type UsageKey } from './usage-report.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recount-usage-'));
});
afterEach(() => rm(directory, { recursive: true }));

interface Line {
  session: string;
  id: string;
  time: string;
  output: number;
  model?: string;
  forkedFrom?: string;
}

const toText = (lines: Line[]): string =>
  lines
    .map(({ session, id, time, output, model = 'claude-sonnet-4-5', forkedFrom }) =>
      JSON.stringify({
        type: 'assistant',
        sessionId: session,
        uuid: `${session}-${id}-${output}`,
        cwd: `/home/ada/${session}`,
        timestamp: time,
        ...(forkedFrom && { forkedFrom: { sessionId: forkedFrom } }),
        message: {
          id: `msg_of_the_history_test_${id}`,
          model,
          role: 'assistant',
          content: [{ type: 'text', text: 'x' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 100, output_tokens: output },
        },
      }),
    )
    .map((line) => `${line}\n`)
    .join('');

async function save(name: string, lines: Line[]): Promise<void> {
  const content = toText(lines);
  await writeFile(join(directory, name), name.endsWith('.gz') ? gzipSync(content) : content);
}

async function find(): Promise<FoundFile[]> {
  const names = (await readdir(directory)).filter((name) => name.includes('.json'));
  return await Promise.all(
    names.sort().map(async (name) => {
      const { size, mtimeMs } = await stat(join(directory, name));
      return { path: join(directory, name), sizeBytes: size, modifiedAtMs: mtimeMs };
    }),
  );
}

async function report(keys: UsageKey[], filter: UsageFilter = {}, timeZone = 'UTC') {
  const ledger = settleLedger(await scanHistory(await find(), { cacheDirectory: join(directory, 'cache') }));
  const { rows, totals } = reportUsage(ledger, keys, filter, createLocalClock(timeZone));
  const toFigures = ({ own, shared }: typeof totals) => [own.responses, own.tokens_out, shared.responses];
  return {
    totals: toFigures(totals),
    rows: rows.map((row) => [...keys.map((key) => row[key]), ...toFigures(row)]),
    ledger,
  };
}

const TIMES = [1_770_000_000, 1_770_000_000] as const;
const ONE: Line = { session: 'one', id: '1', time: '2026-03-02T23:30:00.000Z', output: 7 };

describe('scanHistory and settleLedger', () => {
  it('counts a response once over all files, where the original is credited, the most complete copy counts', async () => {
    await save('a-fork.jsonl', [{ ...ONE, session: 'fork', forkedFrom: 'one', output: 9 }]);
    await save('one.jsonl.gz', [ONE, { ...ONE, id: '2', output: 20 }]);
    expect(await report(['session'])).toMatchObject({
      totals: [2, 29, 1],
      rows: [
        ['one', 2, 29, 0],
        ['fork', 0, 0, 1],
      ],
    });
  });

  it('lists responses whose copies disagree, and their cost by each', async () => {
    await save('one.jsonl', [ONE, { ...ONE, id: '2' }]);
    await save('two.jsonl', [
      { ...ONE, session: 'two', model: 'claude-opus-4-5' },
      { ...ONE, session: 'two', id: '2' },
    ]);
    const { ledger } = await report([]);
    expect(reportUsage(ledger, [], {}, createLocalClock('UTC')).disagreements).toEqual({
      responses: 1,
      cost_usd: 0.000405,
      lowest_cost_usd: 0.000405,
      highest_cost_usd: 0.000675,
    });
  });

  it('groups a shared response by what the copy in that session says', async () => {
    const copy = { ...ONE, session: 'fork', forkedFrom: 'one' };
    await save('one.jsonl', [{ ...ONE, output: 9 }]);
    await save('two.jsonl', [{ ...copy, model: 'claude-haiku-4-5', output: 3 }]);
    await save('three.jsonl', [{ ...copy, model: 'claude-opus-4-5' }]);
    expect(await report(['model'])).toMatchObject({
      totals: [1, 9, 1],
      rows: [
        ['claude-sonnet-4-5', 1, 9, 0],
        ['claude-opus-4-5', 0, 0, 1],
      ],
    });
  });

  it('counts a stream without keys only if its session has no separate file', async () => {
    const [at, session_id] = ['2026-03-02T23:30:00.000Z', 'T-1'];
    const usage = { input_tokens: 100, output_tokens: 7 };
    const lines = [
      { type: 'system', subtype: 'init', session_id, tools: [] },
      { type: 'assistant', session_id, timestamp: at, message: { role: 'assistant', content: [], usage } },
    ];
    await writeFile(join(directory, 'stream.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    expect(await report(['session'])).toMatchObject({ totals: [1, 7, 0] });
    const counts = { inputTokens: 100, outputTokens: 7, cacheCreationInputTokens: 0, cacheReadInputTokens: 0 };
    const messages = [
      { role: 'assistant', content: [], usage: { model: 'claude-sonnet-4-5', timestamp: at, ...counts } },
    ];
    await writeFile(join(directory, 'thread.json'), JSON.stringify({ v: 1, id: session_id, created: 1, messages }));
    expect(await report(['session'])).toMatchObject({ totals: [1, 7, 0], rows: [['T-1', 1, 7, 0]] });
  });

  it('groups by the days of a time zone, also when clocks change', async () => {
    await save('one.jsonl', [
      ONE,
      { ...ONE, id: '2', time: '2026-03-28T23:30:00.000Z', output: 1 },
      { ...ONE, id: '3', time: '2026-03-29T21:59:00.000Z', output: 2 },
      { ...ONE, id: '4', time: '2026-03-29T22:00:00.000Z', output: 4 },
    ]);
    const { rows } = await report(['day'], {}, 'Europe/Berlin');
    expect(rows).toEqual([
      ['2026-03-03', 1, 7, 0],
      ['2026-03-29', 2, 3, 0],
      ['2026-03-30', 1, 4, 0],
    ]);
    expect((await report(['week', 'month'])).rows.map(([week, month]) => [week, month])).toEqual([
      ['2026-03-02', '2026-03'],
      ['2026-03-23', '2026-03'],
    ]);
  });

  it('names hours with their offset, so that a repeated one is two, in order', async () => {
    await save('one.jsonl', [
      { ...ONE, time: '2026-10-25T01:30:00.000Z', output: 1 },
      { ...ONE, id: '2', time: '2026-10-25T00:30:00.000Z', output: 2 },
      { ...ONE, id: '3', time: '2026-10-25T02:00:00.000Z', output: 4 },
      { ...ONE, id: '4', time: '9999-12-31T23:30:00.000Z', output: 8 },
    ]);
    const year9999 = Date.parse('9999-01-01');
    const reportHours = (filter: UsageFilter) => report(['hour', 'month'], filter, 'Europe/Berlin');
    expect((await reportHours({ toMs: year9999 })).rows.map(([hour, , , output]) => [hour, output])).toEqual([
      ['2026-10-25T02:00:00+02:00', 2],
      ['2026-10-25T02:00:00+01:00', 1],
      ['2026-10-25T03:00:00+01:00', 4],
    ]);
    expect((await reportHours({ fromMs: year9999 })).rows).toEqual([
      ['10000-01-01T00:00:00+01:00', '10000-01', 1, 8, 0],
    ]);
    const { rows } = await report(['hour'], { fromMs: year9999 }, 'America/St_Johns');
    expect(rows).toEqual([['9999-12-31T20:00:00-03:30', 1, 8, 0]]);
  });

  it('filters from the first moment, inclusive, to the last, exclusive', async () => {
    await save('one.jsonl', [
      ONE,
      { ...ONE, id: '2', time: '2026-03-03T00:00:00.000Z', model: 'claude-opus-4-5', output: 1 },
    ]);
    const midnightMs = Date.parse('2026-03-03T00:00:00.000Z');
    expect((await report([], { fromMs: midnightMs })).totals).toEqual([1, 1, 0]);
    expect((await report([], { toMs: midnightMs })).totals).toEqual([1, 7, 0]);
    expect((await report([], { model: ['claude-opus-4-5'] })).totals).toEqual([1, 1, 0]);
    expect((await report([], { project: ['/home/ada/two'] })).totals).toEqual([0, 0, 0]);
  });

  it('begins a block of five hours with the first response after the previous one', async () => {
    await save('one.jsonl', [
      { ...ONE, time: '2026-03-02T09:40:00.000Z' },
      { ...ONE, id: '2', time: '2026-03-02T13:59:00.000Z' },
      { ...ONE, id: '3', time: '2026-03-02T14:00:00.000Z' },
    ]);
    const { ledger } = await report([]);
    expect(listBlocks(ledger, {}).map(({ block }) => [block.start, block.responses])).toEqual([
      ['2026-03-02T09:00:00.000Z', 2],
      ['2026-03-02T14:00:00.000Z', 1],
    ]);
  });

  it('begins a block with the same response whatever the filter counts in it', async () => {
    await save('one.jsonl', [
      { ...ONE, time: '2026-03-02T09:40:00.000Z' },
      { ...ONE, id: '2', time: '2026-03-02T13:59:00.000Z', model: 'claude-opus-4-5' },
      { ...ONE, id: '3', time: '2026-03-02T14:10:00.000Z', model: 'claude-opus-4-5' },
    ]);
    const { ledger } = await report([]);
    const blocks = listBlocks(ledger, { model: ['claude-opus-4-5'] });
    expect(blocks.map(({ block }) => [block.start, block.responses])).toEqual([
      ['2026-03-02T09:00:00.000Z', 1],
      ['2026-03-02T14:00:00.000Z', 1],
    ]);
  });

  it('caches unchanged files, and reads changed ones', async () => {
    await save('one.jsonl', [ONE]);
    await utimes(join(directory, 'one.jsonl'), ...TIMES);
    await save('two.jsonl', [{ ...ONE, session: 'two', id: '2', output: 5 }]);
    expect((await report([])).totals).toEqual([2, 12, 0]);
    // Different bytes of the same size and time, so only the memory says 7.
    await save('one.jsonl', [{ ...ONE, output: 8 }]);
    await utimes(join(directory, 'one.jsonl'), ...TIMES);
    expect((await report([])).totals).toEqual([2, 12, 0]);
    // The same size, but written later in the same month; then another size, with the same time.
    const later = TIMES.map((seconds) => seconds + 1) as [number, number];
    await utimes(join(directory, 'one.jsonl'), ...later);
    expect((await report([])).totals).toEqual([2, 13, 0]);
    await appendFile(join(directory, 'one.jsonl'), toText([{ ...ONE, id: '3', output: 100 }]));
    await utimes(join(directory, 'one.jsonl'), ...later);
    expect((await report([])).totals).toEqual([3, 113, 0]);
    await rm(join(directory, 'two.jsonl'));
    expect((await report([])).totals).toEqual([2, 108, 0]);
  });

  it('reads a session of a database again only if its version changed', async () => {
    let opened = 0;
    const toStored = (version: string, lines: Line[]): StoredFile => ({
      path: join(directory, 'store.db!one'),
      sizeBytes: 0,
      modifiedAtMs: 1_770_000_000_000,
      version,
      async *open() {
        opened++;
        yield Buffer.from(toText(lines));
      },
    });
    const scan = async (stored: StoredFile) => {
      const result = await scanHistory([stored], { cacheDirectory: join(directory, 'cache') });
      const [file] = result.files;
      return [file?.status, file?.sizeBytes, result.columns.keys.length, opened];
    };
    const sizeBytes = toText([ONE]).length;
    expect(await scan(toStored('1', [ONE]))).toEqual(['read', sizeBytes, 1, 1]);
    expect(await scan(toStored('1', [ONE]))).toEqual(['read', sizeBytes, 1, 1]);
    const longer = [ONE, { ...ONE, id: '2' }];
    expect(await scan(toStored('2', longer))).toEqual(['read', toText(longer).length, 2, 2]);
    const broken = { ...toStored('3', []), open: () => new Readable({ read() {} }).destroy(new Error('locked')) };
    expect((await scan(broken))[0]).toBe('failed');
    expect(await scan(toStored('3', [ONE]))).toEqual(['read', sizeBytes, 1, 3]);
  });

  it('reads everything again if its cache is damaged', async () => {
    await save('one.jsonl', [ONE]);
    await utimes(join(directory, 'one.jsonl'), ...TIMES);
    await report([]);
    const [shard = ''] = await readdir(join(directory, 'cache'));
    await writeFile(join(directory, 'cache', shard), 'not what it was');
    expect((await report([])).totals).toEqual([1, 7, 0]);
  });

  it('gives the same result with more threads than files', async () => {
    await save('one.jsonl', [ONE]);
    await save('two.jsonl', [{ ...ONE, session: 'two', id: '2', output: 5 }]);
    const { columns, files } = await scanHistory(await find(), { cacheDirectory: undefined, threads: 4 });
    expect(files.map(({ status }) => status)).toEqual(['read', 'read']);
    expect(columns.keys.toSorted()).toEqual(['msg_of_the_history_test_1', 'msg_of_the_history_test_2']);
  });

  it('lists groups of equal cost by name, whichever file was read first', async () => {
    // The longest file is read first.
    await save('one.jsonl', [ONE]);
    await save('two.jsonl', [{ ...ONE, session: 'two', id: '2'.repeat(100) }]);
    const { rows } = await report(['session']);
    expect(rows.map(([session]) => session)).toEqual(['one', 'two']);
  });

  it('refuses archives, whatever they are called, instead of reading their members as one transcript', async () => {
    const header = Buffer.alloc(512);
    header.write('one.jsonl');
    header.write('ustar', 257);
    const tar = Buffer.concat([header, Buffer.from(toText([ONE, { ...ONE, id: '2' }]))]);
    await writeFile(join(directory, 'a.jsonl'), tar);
    await writeFile(join(directory, 'b.json.gz'), gzipSync(tar));
    await writeFile(
      join(directory, 'c.json'),
      Buffer.concat([Buffer.from('PK\x03\x04\n'), Buffer.from(toText([ONE]))]),
    );
    const { files, columns } = await scanHistory(await find(), { cacheDirectory: undefined });
    expect(files.map(({ status, failure }) => [status, failure])).toEqual(
      Array(3).fill(['failed', 'an archive; unpack it first']),
    );
    expect(columns.keys).toHaveLength(0);
  });

  it('names files in another encoding, and those in an agent’s place that it does not know, but no empty ones', async () => {
    const place = join(directory, '.claude', 'projects', '-x');
    await mkdir(place, { recursive: true });
    const contents = {
      1: Buffer.from(`\uFEFF${toText([ONE])}`, 'utf16le'),
      2: Buffer.from(toText([ONE]), 'utf16le').swap16(),
      3: Buffer.alloc(70_000),
      4: Buffer.from('{"a":1}\n'),
      5: Buffer.alloc(0),
      6: Buffer.from('\n \n'),
    };
    const files: FoundFile[] = [];
    for (const [digit, content] of Object.entries(contents)) {
      const path = join(place, `${digit.repeat(8)}-1111-4111-8111-111111111111.jsonl`);
      await writeFile(path, content);
      files.push({ path, sizeBytes: content.length, modifiedAtMs: 1 });
    }
    const result = await scanHistory(files, { cacheDirectory: undefined });
    const found = result.files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    expect(found.map(({ status, failure }) => [status, failure?.split(/[,:]/)[0]])).toEqual([
      ['failed', 'encoded as UTF-16'],
      ['failed', 'encoded as UTF-16'],
      ['failed', 'not text'],
      ['failed', 'not recognised as a transcript of any agent that recount reads'],
      ['unknown', undefined],
      ['unknown', undefined],
    ]);
    expect(result.columns.keys).toHaveLength(0);
  });

  it('names what it does not know where an agent keeps its sessions, whatever the name says', async () => {
    await writeFile(join(directory, 'notes.jsonl'), '{"a":1}\n');
    const [file] = await find();
    const scan = async (found: FoundFile) => (await scanHistory([found], { cacheDirectory: undefined })).files[0];
    if (file === undefined) throw new Error('no file');
    expect((await scan(file))?.status).toBe('unknown');
    expect(await scan({ ...file, isInPlace: true })).toMatchObject({ status: 'failed' });
  });

  it('finds the session of a transcript that names it only after megabytes', async () => {
    const long = { type: 'summary', summary: 'Herons. '.repeat(200_000) };
    const summaries = Array.from({ length: 30_000 }, () => ({ type: 'summary', summary: 'About herons, and where' }));
    const beginning = [long, ...summaries].map((line) => `${JSON.stringify(line)}\n`).join('');
    const content = beginning + toText([ONE, { ...ONE, id: '2' }]);
    await writeFile(join(directory, 'talk.jsonl'), content);
    const plain = await report(['session', 'project']);
    expect(plain).toMatchObject({ totals: [2, 14, 0], rows: [['one', '/home/ada/one', 2, 14, 0]] });
    // Compressed files are read by the format's reader.
    await rm(join(directory, 'talk.jsonl'));
    await writeFile(join(directory, 'talk.jsonl.gz'), gzipSync(content));
    expect((await report(['session', 'project'])).rows).toEqual(plain.rows);
  });

  it('reports what it cannot read, and continues', async () => {
    await save('one.jsonl', [ONE]);
    await writeFile(join(directory, 'notes.json'), '{"a":1}\n');
    const files = [...(await find()), { path: join(directory, 'gone.jsonl'), sizeBytes: 5, modifiedAtMs: 1 }];
    const result = await scanHistory(files, { cacheDirectory: undefined });
    expect(result.files.map(({ status, failure }) => [status, failure]).sort()).toEqual([
      ['failed', 'ENOENT'],
      ['read', null],
      ['unknown', null],
    ]);
  });
});
