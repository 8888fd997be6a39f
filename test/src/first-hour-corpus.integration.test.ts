import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestApi, type TestApi } from '@recount/api/testing/test-api';
import { createTypedCommands, type TypedCommands } from '@recount/cli/testing/typed-commands';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCorpus } from './corpus.ts';
import { countTranscript } from './independent-count.ts';

const corpus = findCorpus();
/**
 * One project with three sessions in one week, which the questions are about; the others must not affect its answers.
 */
const AUCTION = 'claude-code__2arnav4+AuctionHub';
const FAULTY = 'claude-code__moredip+session-share';
const FAULTY_FILE = 'general-tool-calls.jsonl';
const OTHERS = [FAULTY, 'claude-code__EntityProcess+agentv', 'codex-rollout__jnarowski+agentcmd'];
const PROJECT = '11-Auction-Assignment';
const WEEK = ['--in', '2026-07-27..2026-08-02'];
/** The vendor's list price in dollars per million tokens; the project uses one-hour cache writes. */
const MODEL = 'claude-opus-5';
const LIST_PRICE = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 10 };

interface CountedSession {
  id: string;
  text: string;
  tokensOut: number;
  costUsd: number;
  failedTools: number;
}

/** The project's sessions, counted without recount's parser and priced by hand. */
function countSessions(folder: string): CountedSession[] {
  return readdirSync(folder).map((name) => {
    const bytes = readFileSync(join(folder, name));
    const text = bytes.toString();
    const { tokensIn, tokensOut, cacheRead, cacheWrite } = countTranscript(bytes);
    const { input, output, cacheRead: read, cacheWrite: write } = LIST_PRICE;
    return {
      id: /"sessionId":"([^"]+)"/.exec(text)?.[1] ?? '',
      text,
      tokensOut,
      costUsd: (tokensIn * input + tokensOut * output + cacheRead * read + cacheWrite * write) / 1e6,
      failedTools: text.split('"is_error":true').length - 1,
    };
  });
}

/** Without quotes, because no field of these rows contains a comma. */
function parseCsv(text: string): Record<string, string>[] {
  const [header = [], ...rows] = text
    .trim()
    .split('\r\n')
    .map((line) => line.split(','));
  return rows.map((row) => Object.fromEntries(header.map((name, column) => [name, row[column] ?? ''])));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe.runIf(corpus)('the first hour with real transcripts', () => {
  let api: TestApi;
  let type: TypedCommands['type'];
  let read: TypedCommands['read'];
  let folder: string;
  let sessions: CountedSession[];
  let mostExpensive: CountedSession;
  let totalUsd: number;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'recount-first-hour-'));
    execFileSync('tar', ['-xzf', join(corpus ?? '', `${AUCTION}.tar.gz`), '-C', folder]);
    sessions = countSessions(folder).sort((one, other) => other.costUsd - one.costUsd);
    mostExpensive = sessions[0] as CountedSession;
    totalUsd = sum(sessions.map(({ costUsd }) => costUsd));
    api = await createTestApi();
    ({ type, read } = createTypedCommands(api));
    for (const name of [AUCTION, ...OTHERS]) {
      await read('upload', join(corpus ?? '', `${name}.tar.gz`));
      await api.work({ maxLineBytes: 16 * 1024 * 1024 });
    }
  });
  afterAll(async () => {
    await api?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('answers what a week cost, by project', async () => {
    const out = await read('report', 'usage', ...WEEK, '--by', 'project', '--utc');
    expect(out).toMatch(new RegExp(`^${PROJECT} .*\\$${totalUsd.toFixed(2)}`, 'm'));
    expect(out).not.toContain('session-share');
    const json = ['--by', 'project', '--json', '--utc'];
    const { rows } = JSON.parse(await read('report', 'usage', ...WEEK, ...json));
    expect(rows).toHaveLength(1);
    expect(await read('report', 'usage', '--in', 'last', 'week', '--by', 'project')).toMatch(
      /latest session is of 2026/,
    );
  });

  it('answers which session cost most, and why', async () => {
    const [, first = ''] = (await read('sessions', '--sort', 'cost', '--limit', '1')).split('\n');
    expect(first).toMatch(new RegExp(`^${mostExpensive.id.slice(0, 8)} .*\\$${mostExpensive.costUsd.toFixed(2)}$`));
    const why = await read('why', mostExpensive.id.slice(0, 8));
    expect(why).toContain(`Cost $${mostExpensive.costUsd.toFixed(2)}`);
    const { parts } = JSON.parse(await read('why', mostExpensive.id, '--json')) as { parts: { cost_usd: number }[] };
    expect(sum(parts.map(({ cost_usd }) => cost_usd))).toBeCloseTo(mostExpensive.costUsd, 6);
  });

  it('finds where something was discussed, and reads it', async () => {
    const found = await read('search', 'race', 'condition', '--project', PROJECT);
    const [, id = '', line = '0'] = /recount show (\S+) --line (\d+)/.exec(found) ?? [];
    const source = sessions.find((session) => session.id.startsWith(id))?.text.split('\n') ?? [];
    expect(source[Number(line) - 1]).toMatch(/race/i);
    expect(await read('show', id, '--line', line)).toMatch(/race/i);
    expect((await read('show', id, '--raw', '--line', line)).trimEnd()).toBe(source[Number(line) - 1]);
  });

  it('answers what failed, and where', async () => {
    const errors = await read('sessions', '--errors', '--project', PROJECT);
    for (const { id, failedTools } of sessions) {
      expect(failedTools).toBeGreaterThan(0);
      expect(errors).toMatch(new RegExp(`^${id.slice(0, 8)} .* ${failedTools} +\\$[\\d.]+$`, 'm'));
    }
    const { rows } = JSON.parse(await read('report', 'tools', '--project', PROJECT, '--json')) as {
      rows: { errors: number }[];
    };
    expect(sum(rows.map((row) => row.errors))).toBe(sum(sessions.map(({ failedTools }) => failedTools)));
    execFileSync('tar', ['-xzf', join(corpus ?? '', `${FAULTY}.tar.gz`), '-C', folder, FAULTY_FILE]);
    const { invalidJsonLines } = countTranscript(readFileSync(join(folder, FAULTY_FILE)));
    const [, issues = ''] = (await read('issues')).split(`${FAULTY_FILE}  `);
    expect(issues).toMatch(new RegExp(`^${invalidJsonLines} errors, .*\\n.*\\n  line 1: error: Invalid JSON$`, 'm'));
  });

  it('exports what it reports', async () => {
    const rows = parseCsv(await read('export', 'usage', '--project', PROJECT));
    expect(sum(rows.map((row) => Number(row.tokens_out)))).toBe(sum(sessions.map(({ tokensOut }) => tokensOut)));
    expect(sum(rows.map((row) => Number(row.cost_usd)))).toBeCloseTo(totalUsd, 6);
  });

  it('answers how much disk space it takes', async () => {
    const { disk } = JSON.parse(await read('status', '--json'));
    expect(disk.database_bytes).toBeGreaterThan(disk.search_bytes);
    const text = sum(sessions.map((session) => session.text.length));
    expect(disk.database_bytes).toBeGreaterThan(text);
    expect(await read('status')).toMatch(/^Disk +[\d.]+ MB database/m);
  });

  it('lets a colleague read, and no more', async () => {
    const create = ['keys', 'create', '--name', 'colleague', '--scopes', 'read', '--workspace', 'home'];
    const key = (await type(create, { hasServer: false })).out.trim();
    expect((await type(['why', mostExpensive.id], { key })).out).toContain(`$${mostExpensive.costUsd.toFixed(2)}`);
    const refused = await type(['delete', mostExpensive.id, '--yes'], { key });
    expect(refused).toMatchObject({ exitCode: 1, err: expect.stringContaining('scope admin') });
    expect(await read('sessions', mostExpensive.id)).toContain(mostExpensive.id.slice(0, 8));
  });

  it.each([
    ['report', 'usage', '--project', '11-Auktion-Assignment'],
    ['report', 'daily', '--model', 'claude-opsu-5'],
    ['sessions', '--agent', 'claud-cod'],
    ['why', 'ffffffff'],
    ['export', 'usage', '--project', '11-Auktion'],
    ['delete', '--project', '11-Auktion', '--yes'],
  ])('answers %s %s %s %s with no figure', async (...commandLine) => {
    const { exitCode, out, err } = await type(commandLine.filter((word) => word !== undefined));
    expect({ exitCode, out }).toEqual({ exitCode: 2, out: '' });
    expect(err).toMatch(/There is no |No \w+ matches /);
  });

  it('sets a price, and applies it', async () => {
    const { input, output, cacheRead, cacheWrite } = LIST_PRICE;
    const doubled = { '--input': input, '--output': output, '--cache-read': cacheRead, '--cache-write': cacheWrite };
    const prices = Object.entries(doubled).flatMap(([option, usd]) => [option, String(2 * usd)]);
    const set = ['prices', 'set', MODEL, ...prices, '--yes', '--workspace', 'home'];
    expect(await type(set, { hasServer: false })).toMatchObject({ exitCode: 0 });
    expect(await read('why', mostExpensive.id)).toContain(`Cost $${(2 * mostExpensive.costUsd).toFixed(2)}`);
    const out = await read('report', 'usage', '--project', PROJECT, '--by', 'project');
    expect(out).toContain(`$${(2 * totalUsd).toFixed(2)}`);
  });

  it('deletes a session, and removes it from the sums', async () => {
    await read('delete', mostExpensive.id, '--yes');
    expect((await type(['why', mostExpensive.id])).exitCode).toBe(2);
    const rows = parseCsv(await read('export', 'usage', '--project', PROJECT));
    expect(new Set(rows.map((row) => row.session_id))).toEqual(new Set(sessions.slice(1).map(({ id }) => id)));
    expect(sum(rows.map((row) => Number(row.cost_usd)))).toBeCloseTo(2 * (totalUsd - mostExpensive.costUsd), 6);
  });
});
