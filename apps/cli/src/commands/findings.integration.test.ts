import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createDatabasePool, type DatabasePool, ensureWorkspace } from '@recount/db';
import { receiveTranscript } from '@recount/ingest';
import { workJobs } from '@recount/ingest/testing/work-jobs';
import { createTestDatabase } from '@recount/local-postgres/testing';
import { createFolderRawStore } from '@recount/storage';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../run-command-line.ts';
import { createFakeContext } from '../testing/fake-context.ts';

const WORKSPACE = '01J00000000000000000000001';

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let database: DatabasePool;
let directory: string;
let rawStore: ReturnType<typeof createFolderRawStore>;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = createDatabasePool({ connectionString: testDatabase.connectionString });
  directory = await mkdtemp(join(tmpdir(), 'recount-findings-'));
  rawStore = createFolderRawStore({ directory });
  await ensureWorkspace(database.database, WORKSPACE, 'default');
});
afterEach(async () => {
  await database.close();
  await testDatabase.drop();
  await rm(directory, { recursive: true });
});

async function run(...commandLine: string[]) {
  const environment = { DATABASE_URL: testDatabase.connectionString, RECOUNT_RAW_STORE: directory };
  const context = createFakeContext({ environment });
  const exitCode = await runCommandLine(context, commandLine);
  return { exitCode, out: context.out(), err: context.err() };
}

/** A transcript of one prompt, and of more lines if given; returns the key of its object. */
async function ingest(...moreLines: object[]): Promise<string> {
  const line = { type: 'user', sessionId: 's', timestamp: '2026-01-01T00:00:00Z', message: { content: 'hello' } };
  const lines = [line, ...moreLines].map((each) => `${JSON.stringify(each)}\n`);
  const body = Readable.from([Buffer.from(lines.join(''))]);
  const { transcript } = await receiveTranscript(
    { database, rawStore },
    { workspaceId: WORKSPACE, uploaderKeyId: null, body, maxBytes: 1000 },
  );
  await workJobs({ database, rawStore }, { maxLineBytes: 1000 });
  return transcript.object_key;
}

interface TableCheck {
  table: string;
  missing: number;
  surplus: number;
}

interface Verification {
  workspace: string;
  tables: TableCheck[];
  raw: { checks: TableCheck[] } | null;
}

describe('recount verify', () => {
  const verify = async () => {
    const [text, json] = [await run('verify'), await run('verify', '--json')];
    expect(json.exitCode).toBe(text.exitCode);
    const { workspaces } = JSON.parse(json.out) as { workspaces: Verification[] };
    const checks = workspaces.flatMap(({ tables, raw }) => [...tables, ...(raw?.checks ?? [])]);
    const findings = checks.filter(({ missing, surplus }) => missing + surplus > 0);
    for (const { table, missing, surplus } of findings) {
      expect(text.out).toMatch(new RegExp(`^${table} .* ${missing} missing, ${surplus} surplus$`, 'm'));
    }
    const verdict =
      findings.length === 0
        ? `All ${checks.length} tables match.`
        : `1 of ${checks.length} tables differs: ${findings[0]?.table}.`;
    expect(text.out.trimEnd().split('\n').at(-1)).toBe(verdict);
    return {
      exitCode: text.exitCode,
      findings: findings.map(({ table, missing, surplus }) => ({ table, missing, surplus })),
    };
  };
  const table = 'message_day_rollup';

  it('exits with 0 if every row is correct', async () => {
    await ingest();
    expect(await verify()).toEqual({ exitCode: 0, findings: [] });
  });

  it('exits with 1 if a row is missing and none is surplus', async () => {
    await ingest();
    await database.pool.query(`DELETE FROM recount.${table}`);
    expect(await verify()).toEqual({ exitCode: 1, findings: [{ table, missing: 1, surplus: 0 }] });
  });

  it('exits with 1 if a row is surplus and none is missing', async () => {
    await ingest();
    await database.pool.query(`
      INSERT INTO recount.${table}
      SELECT (jsonb_populate_record(r, '{"session_id": "another"}')).* FROM recount.${table} AS r`);
    expect(await verify()).toEqual({ exitCode: 1, findings: [{ table, missing: 0, surplus: 1 }] });
  });

  it('exits with 1 if a text differs from the raw transcript, unless told not to read it', async () => {
    await ingest();
    await database.pool.query(`UPDATE recount.content_blocks SET content_text = 'FORGED'`);
    expect(await verify()).toEqual({ exitCode: 1, findings: [{ table: 'content_blocks', missing: 1, surplus: 1 }] });
    const quick = await run('verify', '--no-raw');
    expect(quick).toMatchObject({ exitCode: 0, out: expect.stringContaining('No raw transcript was read: --no-raw.') });
  });

  it('says which workspace it verified and what it left out, and verifies every one with --all', async () => {
    await ingest();
    await ensureWorkspace(database.database, '01J00000000000000000000002', 'other');
    await database.pool.query(`UPDATE recount.transcripts SET parser_version = '1'`);
    const one = await run('verify');
    expect(one).toMatchObject({ exitCode: 0, err: expect.stringContaining('1 other workspace not verified: --all.') });
    expect(one.out).toContain('Workspace default');
    expect(one.out).toContain('Not compared: 1 transcript of an older parser');
    expect(one.out).not.toContain('Workspace other');
    const all = await run('verify', '--all');
    expect(all.out).toMatch(/Workspace default.*Workspace other/s);
    expect(all.err).not.toContain('not verified');
  });
});

describe('recount doctor', () => {
  const examine = async () => {
    const [text, json] = [await run('doctor', '--min-age', '0m'), await run('doctor', '--min-age', '0m', '--json')];
    const { differingTimeZones } = JSON.parse(json.out) as { differingTimeZones: string[] };
    // The database's rules may be older than Node's. There is no finding, because no figure depends on them.
    expect(text.err.includes('Time zones: PostgreSQL has other rules')).toBe(differingTimeZones.length > 0);
    for (const zone of differingTimeZones.slice(0, 5)) expect(text.err).toContain(zone);
    expect(json.exitCode).toBe(text.exitCode);
    const { findings, needAttention } = JSON.parse(json.out) as { findings: { kind: string }[]; needAttention: number };
    const kinds = findings.map(({ kind }) => kind).filter((kind) => kind !== 'search-behind');
    return { exitCode: text.exitCode, kinds, needAttention };
  };
  const orphanKey = `workspaces/${WORKSPACE}/transcripts/01J0000000000000000000YYYY.jsonl`;

  it('exits with 0 if everything is consistent', async () => {
    await ingest();
    expect(await examine()).toEqual({ exitCode: 0, kinds: [], needAttention: 0 });
  });

  it('names what recount does not read, by version of the agent, and exits with 0', async () => {
    const unknown = { type: 'heron-seen', version: '9.1.0', usage: { input_tokens: 5 } };
    await ingest({ ...unknown, usage: {} }, unknown, unknown);
    const { out, exitCode } = await run('doctor', '--min-age', '0m');
    expect(exitCode).toBe(0);
    expect(out).toContain('claude-code 9.1.0: Unknown line type: heron-seen (3 times in 1 transcript)');
    expect(out).toContain(
      'claude-code 9.1.0: Usage that is not counted, in lines of type heron-seen (2 times in 1 transcript)',
    );
    expect(await examine()).toEqual({ exitCode: 0, kinds: ['notice', 'notice'], needAttention: 0 });
  });

  it('exits with 0 if only an unreferenced object is left, because nothing is lost', async () => {
    await ingest();
    await rawStore.put(orphanKey, Readable.from([Buffer.from('{}\n')]));
    expect(await examine()).toEqual({ exitCode: 0, kinds: ['orphan-object'], needAttention: 0 });
  });

  it('exits with 1 if an object is missing, whatever else it finds', async () => {
    await rawStore.delete(await ingest());
    expect(await examine()).toEqual({ exitCode: 1, kinds: ['missing-object'], needAttention: 1 });
    await rawStore.put(orphanKey, Readable.from([Buffer.from('{}\n')]));
    const { exitCode, kinds, needAttention } = await examine();
    expect({ exitCode, kinds: kinds.sort(), needAttention }).toEqual({
      exitCode: 1,
      kinds: ['missing-object', 'orphan-object'],
      needAttention: 1,
    });
  });
});
