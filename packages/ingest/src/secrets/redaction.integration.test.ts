import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import {
  changeWorkspaceSettings,
  findSession,
  listIssues,
  listTranscripts,
  type RedactionMode,
  type TranscriptRow,
} from '@recount/db';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runDoctor } from '../consistency/run-doctor.ts';
import { newStreamId, openLiveWriter } from '../live/open-live-writer.ts';
import { requeueOutdated } from '../maintenance/requeue-outdated.ts';
import { ingestBatch } from '../process/ingest-batch.ts';
import { receiveAttachment } from '../receive/receive-attachment.ts';
import { dumpTables } from '../testing/dump-tables.ts';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation, toLine } from '../testing/test-installation.ts';

let installation: TestInstallation;
beforeEach(async () => {
  installation = await createTestInstallation();
});
afterEach(() => installation.close());

// Assembled from parts, so that secret scanners do not report this repository.
const TOKEN = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
const PASSWORD = 'Tr0ub4dorx7x7';

const set = (redaction: RedactionMode) =>
  changeWorkspaceSettings(installation.database.database, TEST_WORKSPACE, { redaction });

const withSecrets = (session: string, lineCount: number): string =>
  Array.from({ length: lineCount }, (_, index) => {
    if (index === 0) {
      return toLine(session, 0, { message: { role: 'user', content: `log in with ${TOKEN}, please` } });
    }
    if (index === 3) {
      const input = { command: `psql postgres://ada:${PASSWORD}@db.internal/app`, file_path: `/tmp/${TOKEN}` };
      return toLine(session, 3, {
        message: {
          id: 'msg-3',
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          content: [
            { type: 'thinking', thinking: `the token is ${TOKEN}` },
            { type: 'tool_use', id: 'toolu-3', name: 'Bash', input },
          ],
          usage: { input_tokens: 10, output_tokens: 5 },
        },
      });
    }
    if (index === 4) {
      const content = [{ type: 'tool_result', tool_use_id: 'toolu-3', content: `\n${TOKEN}\n${TOKEN}` }];
      return toLine(session, 4, { message: { role: 'user', content } });
    }
    return toLine(session, index);
  })
    .concat(`${JSON.stringify({ type: 'custom-title', sessionId: session, customTitle: `with ${TOKEN}` })}\n`)
    .join('');

const dumpDatabase = () => dumpTables(installation.database);

async function readRaw({ object_key }: Pick<TranscriptRow, 'object_key'>): Promise<Buffer> {
  return Buffer.concat(await (await installation.rawStore.get(object_key)).toArray());
}

async function dumpStore(): Promise<string> {
  const parts = await Promise.all((await installation.listObjectKeys()).map((key) => readRaw({ object_key: key })));
  return Buffer.concat(parts).toString();
}

async function ingest(text: string): Promise<TranscriptRow> {
  const { transcript } = await installation.receive(text);
  await installation.work();
  const row = await installation.find(transcript.id);
  if (row === undefined) throw new Error('Not ingested');
  return row;
}

describe('redaction', () => {
  it('is off unless the workspace enables it', async () => {
    const row = await ingest(withSecrets('s', 6));
    expect(row).toMatchObject({
      secret_counts: {},
      stored_sha256: null,
      parser_version: expect.not.stringContaining('+'),
    });
    expect(await dumpDatabase()).toContain(TOKEN);
  });

  it('leaves no secret of transcripts that are ingested together in any row or object', async () => {
    await set('rows-and-raw');
    const texts = [withSecrets('s', 6), withSecrets('t', 6), toLine('u', 0)];
    const ids: string[] = [];
    for (const text of texts) ids.push((await installation.receive(text)).transcript.id);
    expect(await ingestBatch(installation, TEST_WORKSPACE, ids, { maxLineBytes: 1024 * 1024 })).toHaveLength(3);
    const [first, second, plain] = await Promise.all(ids.map((id) => installation.find(id)));
    for (const row of [first, second]) {
      expect(row?.stored_sha256).not.toBeNull();
      expect(row?.secret_counts).toEqual({ github: 6, 'database-connection-string': 1 });
    }
    expect(plain).toMatchObject({ stored_sha256: null, secret_counts: {} });
    for (const dump of [await dumpDatabase(), await dumpStore()]) {
      expect(dump).not.toContain(TOKEN);
      expect(dump).not.toContain(PASSWORD);
    }
    expect(await installation.listObjectKeys()).toHaveLength(3);
  });

  it('leaves no secret in any row, and counts them by kind and place', async () => {
    await set('rows');
    const text = withSecrets('s', 6);
    const row = await ingest(text);
    const database = await dumpDatabase();
    expect(database).not.toContain(TOKEN);
    expect(database).not.toContain(PASSWORD);
    expect(row).toMatchObject({
      status: 'ingested',
      initial_prompt: 'log in with [REDACTED:github], please',
      title: 'with [REDACTED:github]',
      secret_counts: { github: 6, 'database-connection-string': 1 },
      issue_counts: { secret_redacted: 7 },
      stored_sha256: null,
    });
    const issues = await listIssues(installation.database.database, TEST_WORKSPACE, row.id, { limit: 100 });
    expect(
      issues.map(({ message, line_number, occurrence_count, severity }) => [
        message,
        line_number,
        occurrence_count,
        severity,
      ]),
    ).toEqual([
      ['Secret redacted: github', 1, 1, 'warning'],
      ['Secret redacted: github', 4, 2, 'warning'],
      ['Secret redacted: database-connection-string', 4, 1, 'warning'],
      ['Secret redacted: github', 5, 2, 'warning'],
      ['Secret redacted: github', 7, 1, 'warning'],
    ]);
    const { rows } = await installation.database.pool.query<{ text: string; line: string; offset: string }>(
      `SELECT coalesce(content_text, thinking_text, result_text, tool_input->>'command') AS text, byte_offset AS offset
       FROM recount.content_blocks WHERE line_number IN (4, 5) ORDER BY line_number, block_order`,
    );
    expect(rows.map((block) => block.text)).toEqual([
      'the token is [REDACTED:github]',
      'psql postgres://[REDACTED]@db.internal/app',
      '\n[REDACTED:github]\n[REDACTED:github]',
    ]);
    expect(await readRaw(row)).toEqual(Buffer.from(text));
    expect(Number(rows[2]?.offset)).toBe(text.split('\n').slice(0, 4).join('\n').length + 1);
  });

  it('replaces the raw object by a redacted copy, with every line in its place', async () => {
    await set('rows-and-raw');
    const text = withSecrets('s', 6);
    const row = await ingest(text);
    expect(await installation.listObjectKeys()).toEqual([row.object_key]);
    const raw = await readRaw(row);
    expect(await dumpStore()).not.toContain(TOKEN);
    expect(raw).toHaveLength(Buffer.byteLength(text));
    expect(row.stored_sha256).toBe(createHash('sha256').update(raw).digest('hex'));
    expect(row.sha256).toBe(createHash('sha256').update(text).digest('hex'));
    expect(
      raw
        .toString()
        .split('\n')
        .map((line) => line.length),
    ).toEqual(text.split('\n').map((line) => line.length));
    expect((await installation.receive(text)).isDuplicate).toBe(true);
    expect(await installation.listObjectKeys()).toEqual([row.object_key]);
  });

  it('redacts raw objects that were stored before, also of versions without rows', async () => {
    const shorter = await ingest(withSecrets('s', 6).split('\n').slice(0, 6).join('\n').concat('\n'));
    await ingest(withSecrets('s', 6).split('\n').slice(0, 6).join('\n').concat('\n', toLine('s', 7)));
    expect(await installation.find(shorter.id)).toMatchObject({ status: 'superseded' });
    await set('rows-and-raw');
    for await (const _id of requeueOutdated(installation, TEST_WORKSPACE));
    await installation.work();
    expect(await installation.listObjectKeys()).toHaveLength(2);
    expect(await dumpStore()).not.toContain(TOKEN);
  });

  it('leaves raw objects without secrets unchanged', async () => {
    await set('rows-and-raw');
    const row = await ingest(toLine('s', 0) + toLine('s', 1));
    expect(row).toMatchObject({ stored_sha256: null, object_key: expect.stringContaining('/transcripts/') });
  });

  it('gives the same rows again from the redacted copy, and still knows what was in it', async () => {
    await set('rows-and-raw');
    const row = await ingest(withSecrets('s', 6));
    const volatile = /\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.\d]*(Z|\+00)/g;
    const numbered = /^recount\.(usage_entries|tool_calls|audit_log|stale_days|search_\w+) .*\n?/gm;
    const dump = async () => (await dumpDatabase()).replaceAll(volatile, '').replaceAll(numbered, '');
    const before = await dump();
    await installation.database.pool.query(`UPDATE recount.transcripts SET parser_version = '0'`);
    for await (const _id of requeueOutdated(installation, TEST_WORKSPACE));
    await installation.work();
    expect(await installation.find(row.id)).toMatchObject({ ...row, ingested_at: expect.any(String) });
    expect(await dump()).toBe(before);
    const issues = await listIssues(installation.database.database, TEST_WORKSPACE, row.id, { limit: 100 });
    expect(issues.map(({ line_number }) => line_number)).toEqual([1, 4, 4, 5, 7]);
  });

  it.each([
    ['in order', [3, 5, 8]],
    ['in the other order', [8, 5, 3]],
    ['mixed up', [5, 8, 3]],
  ])('recognises the versions of a session that arrive %s', async (_, lengths) => {
    await set('rows-and-raw');
    const whole = withSecrets('s', 8).split('\n');
    const rows: TranscriptRow[] = [];
    for (const length of lengths) rows.push(await ingest(`${whole.slice(0, length).join('\n')}\n`));
    const transcripts = await listTranscripts(installation.database.database, TEST_WORKSPACE, {}, { limit: 10 });
    const longest = transcripts.find(({ status }) => status === 'ingested');
    expect(transcripts.map(({ status }) => status).sort()).toEqual(['ingested', 'superseded', 'superseded']);
    expect(longest?.size_bytes).toBe(Math.max(...transcripts.map(({ size_bytes }) => size_bytes)));
    expect(await dumpStore()).not.toContain(TOKEN);
    expect(await installation.listObjectKeys()).toHaveLength(3);
  });

  it('is applied to existing transcripts by `requeue --outdated`', async () => {
    const short = await ingest(withSecrets('s', 5));
    const long = await ingest(toLine('t', 0));
    await set('rows');
    for await (const _id of requeueOutdated(installation, TEST_WORKSPACE));
    expect(await installation.listJobs()).toHaveLength(2);
    await installation.work();
    expect(await dumpDatabase()).not.toContain(TOKEN);
    await set('rows-and-raw');
    for await (const _id of requeueOutdated(installation, TEST_WORKSPACE));
    expect((await installation.listJobs()).map(({ transcriptId }) => transcriptId)).toEqual([short.id]);
    await installation.work();
    expect(await dumpStore()).not.toContain(TOKEN);
    expect((await findSession(installation.database.database, TEST_WORKSPACE, 's'))?.title).toBe(
      'with [REDACTED:github]',
    );
    for await (const _id of requeueOutdated(installation, TEST_WORKSPACE));
    expect(await installation.listJobs()).toEqual([]);
    expect(await installation.find(long.id)).toMatchObject({ stored_sha256: null });
  });

  it('redacts again what is uploaded in place of a lost copy', async () => {
    await set('rows-and-raw');
    const text = withSecrets('s', 6);
    const row = await ingest(text);
    await installation.rawStore.delete(row.object_key);
    await installation.receive(text);
    expect(await installation.find(row.id)).toMatchObject({ stored_sha256: null, status: 'queued' });
    await installation.work();
    expect(await installation.find(row.id)).toMatchObject({ stored_sha256: row.stored_sha256, status: 'ingested' });
    expect(await dumpStore()).not.toContain(TOKEN);
  });

  it('redacts again what is uploaded in place of a damaged copy', async () => {
    await set('rows-and-raw');
    const text = withSecrets('s', 6);
    const row = await ingest(text);
    const path = `${installation.storeDirectory}/${row.object_key}`;
    const bytes = await readFile(path);
    bytes[10] = (bytes[10] ?? 0) ^ 1;
    await writeFile(path, bytes);
    expect(await installation.receive(text)).toMatchObject({ rawObject: 'healed', transcript: { status: 'queued' } });
    await installation.work();
    const healed = await installation.find(row.id);
    expect(healed).toMatchObject({ stored_sha256: row.stored_sha256, status: 'ingested' });
    expect(await dumpStore()).not.toContain(TOKEN);
    expect(await installation.listObjectKeys()).toEqual([healed?.object_key]);
    expect((await installation.receive(text)).rawObject).toBe('duplicate');
  });

  it('keeps no copy of an object without secrets', async () => {
    await set('rows-and-raw');
    const longer = await ingest(toLine('s', 0) + toLine('s', 1) + toLine('s', 2));
    const shorter = await ingest(toLine('s', 0) + toLine('s', 1));
    expect(await installation.find(shorter.id)).toMatchObject({ status: 'superseded', stored_sha256: null });
    expect(await installation.listObjectKeys()).toEqual([longer.object_key, shorter.object_key].toSorted());
  });

  it('does not replace the original by a copy of damaged bytes', async () => {
    const text = withSecrets('s', 6);
    const longer = `${text}${toLine('s', 8)}`;
    await ingest(longer);
    await set('rows-and-raw');
    // A beginning of another version, whose object is read only for the copy.
    const { transcript } = await installation.receive(text);
    const { rawStore } = installation;
    const get: typeof rawStore.get = async (key, options) => {
      const stream = await rawStore.get(key, options);
      if (key !== transcript.object_key) return stream;
      const bytes = Buffer.concat(await stream.toArray());
      bytes[10] = (bytes[10] ?? 0) ^ 1;
      return Readable.from([bytes]);
    };
    const { ingestAlone } = await import('../process/ingest-batch.ts');
    const { claimTranscript } = await import('@recount/db');
    const claimed = await claimTranscript(installation.database.database, TEST_WORKSPACE, transcript.id);
    if (claimed === undefined) throw new Error('Not claimed');
    const deps = { ...installation, rawStore: { ...rawStore, get } };
    await expect(ingestAlone(deps, claimed, { maxLineBytes: 1024 * 1024 })).rejects.toThrow('SHA-256');
    expect(await readRaw(transcript)).toEqual(Buffer.from(text));
    expect(await installation.find(transcript.id)).toMatchObject({ object_key: transcript.object_key });
    expect((await installation.listObjectKeys()).filter((key) => key.includes('redacted'))).toEqual([]);
  });

  it('leaves the transcript whole if the copy cannot be stored, and doctor finds the remains', async () => {
    await set('rows-and-raw');
    const text = withSecrets('s', 6);
    const { transcript } = await installation.receive(text);
    const { commit } = { commit: installation.database.withTransaction };
    const failing: typeof commit = (work, options) =>
      commit(async (transaction, client) => {
        await work(transaction, client);
        throw new Error('The connection broke');
      }, options);
    const { ingestAlone } = await import('../process/ingest-batch.ts');
    const { claimTranscript } = await import('@recount/db');
    const claimed = await claimTranscript(installation.database.database, TEST_WORKSPACE, transcript.id);
    if (claimed === undefined) throw new Error('Not claimed');
    const deps = { ...installation, database: { ...installation.database, withTransaction: failing } };
    await expect(ingestAlone(deps, claimed, { maxLineBytes: 1024 * 1024 })).rejects.toThrow('broke');
    expect(await installation.listObjectKeys()).toHaveLength(2);
    expect(await readRaw(transcript)).toEqual(Buffer.from(text));
    await installation.work();
    expect(await dumpDatabase()).not.toContain(TOKEN);
    const findings = [];
    const options = { fix: true, nowMs: Date.now() + 10_000, minAgeMs: 0 };
    for await (const finding of runDoctor(installation, options)) findings.push(finding);
    expect(findings).toMatchObject([
      { kind: 'orphan-object', fixed: true, objectKey: expect.stringContaining('/redacted/') },
    ]);
    expect(await installation.listObjectKeys()).toEqual([(await installation.find(transcript.id))?.object_key]);
  });

  it('lets doctor restore a transcript’s copy if the database is older than the copy', async () => {
    const text = withSecrets('s', 6);
    const row = await ingest(text);
    await set('rows-and-raw');
    for await (const _id of requeueOutdated(installation, TEST_WORKSPACE));
    await installation.work();
    const redacted = await installation.find(row.id);
    await installation.database.pool.query('UPDATE recount.transcripts SET object_key = $1, stored_sha256 = NULL', [
      row.object_key,
    ]);
    const findings = [];
    const options = { fix: true, nowMs: Date.now() + 10_000, minAgeMs: 0 };
    for await (const finding of runDoctor(installation, options)) findings.push(finding);
    expect(findings).toMatchObject([{ kind: 'orphan-object', fixed: true, objectKey: redacted?.object_key }]);
    expect(await installation.find(row.id)).toMatchObject({
      object_key: redacted?.object_key,
      stored_sha256: redacted?.stored_sha256,
    });
  });
});

describe('what an upload says about itself', () => {
  const openStream = () =>
    openLiveWriter(
      installation,
      {
        ...{ workspaceId: TEST_WORKSPACE, uploaderKeyId: 'key', streamId: newStreamId(), sessionId: 's', offset: 0 },
        ...{ agent: 'claude-code', path: `/w/${TOKEN}.jsonl`, machine: `m ${TOKEN}`, person: `p ${TOKEN}` },
      },
      { maxOpenStreams: 10, maxBytes: 1e6 },
    );

  it.each(['rows', 'rows-and-raw'] as const)('has no secret in rows and descriptions (%s)', async (mode) => {
    await set(mode);
    const path = `/home/ada/${TOKEN}/redis:/`;
    const origin = { path, machine: `host-${TOKEN}`, person: `ada ${TOKEN}` };
    const { transcript } = await installation.receive(toLine('s', 0), origin);
    const { attachment } = await receiveAttachment(installation, {
      ...{ workspaceId: TEST_WORKSPACE, uploaderKeyId: 'operator', sessionId: 's', agent: 'claude-code' },
      ...{ ...origin, path: `tool-results/${TOKEN}.txt`, body: Readable.from([Buffer.from('x')]), maxBytes: 10 },
    });
    await installation.work();
    const marked = { machine: 'host-[REDACTED:github]', person: 'ada [REDACTED:github]' };
    expect(await installation.find(transcript.id)).toMatchObject({
      path: '/home/ada/[REDACTED:github]/redis:/',
      ...marked,
    });
    expect(attachment).toMatchObject({
      path: expect.stringMatching(/^tool-results\/\[REDACTED:github:[0-9a-f]{8}\]\.txt$/),
      ...marked,
    });
    expect(await dumpDatabase()).not.toContain(TOKEN);
    for (const key of [transcript.object_key, attachment.object_key]) {
      expect(JSON.stringify(await installation.rawStore.readDescription(key))).not.toContain(TOKEN);
    }
  });

  it('keeps apart what only a secret tells apart, and finds the same again', async () => {
    await set('rows');
    const other = TOKEN.replace('a1', 'z9');
    // Its lines name no session, so the path does.
    const line = `${JSON.stringify({ ...JSON.parse(toLine('s', 0)), sessionId: undefined })}\n`;
    const upload = (token: string) => installation.receive(line, { path: `/p/projects/x/${token}.jsonl` });
    const [first, second, again] = [await upload(TOKEN), await upload(other), await upload(TOKEN)];
    expect(first.transcript.session_id).toMatch(/^\[REDACTED:github:[0-9a-f]{8}\]$/);
    expect(second.transcript.session_id).not.toBe(first.transcript.session_id);
    expect(again).toMatchObject({ isDuplicate: true, transcript: { id: first.transcript.id } });
    const attach = (token: string) =>
      receiveAttachment(installation, {
        ...{ workspaceId: TEST_WORKSPACE, uploaderKeyId: 'operator', sessionId: 's', agent: 'claude-code' },
        ...{ path: `tool-results/${token}.txt`, body: Readable.from([Buffer.from(token.slice(0, 6))]), maxBytes: 10 },
      });
    const attached = [await attach(TOKEN), await attach(other), await attach(TOKEN)];
    expect(attached.map(({ outcome }) => outcome)).toEqual(['stored', 'stored', 'duplicate']);
    expect(new Set(attached.map(({ attachment }) => attachment.path)).size).toBe(2);
  });

  it('has no secret in the row of a running agent’s stream', async () => {
    await set('rows');
    const writer = await openStream();
    expect(await dumpDatabase()).not.toContain(TOKEN);
    await writer.append(Buffer.from(toLine('s', 0)));
    const { transcript_id: id } = await writer.end({});
    expect(await installation.find(id ?? '')).toMatchObject({
      ...{ path: '/w/[REDACTED:github].jsonl', machine: 'm [REDACTED:github]', person: 'p [REDACTED:github]' },
    });
    expect(await dumpDatabase()).not.toContain(TOKEN);
  });

  it('stays as it came if the workspace redacts nothing', async () => {
    const { transcript } = await installation.receive(toLine('s', 0), { path: `/x/${TOKEN}`, machine: TOKEN });
    expect(transcript).toMatchObject({ path: `/x/${TOKEN}`, machine: TOKEN });
  });
});
