import type { ApiResponse, TranscriptBatch } from '@recount/core';
import { withFewStatements } from '@recount/local-postgres/testing';
import fc from 'fast-check';
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createRowCopier } from '../copy/row-copier.ts';
import type { DatabasePool } from '../database/database.ts';
import { getTableConfig, type PgTable } from '../drizzle.cjs';
import { findings } from '../schema/findings.ts';
import {
  fileDayRollup,
  messageDayRollup,
  messageRollup,
  toolDayRollup,
  usageDayRollup,
  usageRollup,
} from '../schema/rollups.ts';
import { usageLedger } from '../schema/usage.ts';
import { createTestPool, TEST_WORKSPACE } from '../testing/create-test-pool.ts';
import { ingestTranscript } from '../testing/ingest-transcript.ts';
import { type MadeLine, madeLines, toMadeTranscript } from '../testing/made-conversation.ts';
import { divide, ofInteger, subtract, toUsd } from './decimal.ts';
import type { DerivedRows } from './derived-rows.ts';
import { TranscriptDeriver } from './transcript-deriver.ts';

let pool: DatabasePool;
beforeAll(async () => {
  pool = await createTestPool();
});
afterAll(() => pool.close());

const TABLES = {
  usageRollup,
  usageDayRollup,
  messageRollup,
  messageDayRollup,
  toolDayRollup,
  fileDayRollup,
  findings,
  ledger: usageLedger,
} satisfies Partial<Record<keyof DerivedRows, PgTable>>;

let count = 0;

/** The rows of a transcript by SQL and by the deriver, whose batches `change` may change first; the database forgets both. */
async function deriveTwice(lines: readonly MadeLine[], change: (batch: TranscriptBatch) => void) {
  const id = `transcript-${++count}`;
  const sessionId = `session-${count}`;
  const origin = { workspaceId: TEST_WORKSPACE, sessionId, rowSetId: id, agent: 'claude-code' };
  const deriver = new TranscriptDeriver({
    ...origin,
    isSubagent: false,
    isStream: false,
    sentRepository: null,
    priceVersion: 'test',
  });
  const key = { workspaceId: TEST_WORKSPACE, transcriptId: id };
  const file = { path: `/projects/x/${sessionId}.jsonl`, bytes: Buffer.from(toMadeTranscript(sessionId, lines)) };
  let derived: DerivedRows | undefined;
  await ingestTranscript(pool, key, file, (batch) => {
    change(batch);
    deriver.add(batch);
    if (batch.summary !== undefined) derived = deriver.finish(batch.summary);
  });
  if (derived === undefined) throw new Error('Everything is derived of a small transcript');
  const { rows } = await pool.pool.query(
    'SELECT active_ms::int, total_messages, first_timestamp FROM recount.sessions WHERE session_id = $1',
    [sessionId],
  );
  const client = await pool.pool.connect();
  try {
    const bySql = await readTables(client, sessionId);
    await writeRows(client, sessionId, derived);
    return { bySql, derived: await readTables(client, sessionId), session: rows[0], figures: derived.session };
  } finally {
    for (const table of Object.values(TABLES)) await deleteRows(client, table, sessionId);
    client.release();
  }
}

const toName = (table: PgTable): string => `recount.${getTableConfig(table).name}`;

const deleteRows = (client: PoolClient, table: PgTable, sessionId: string) =>
  client.query(`DELETE FROM ${toName(table)} WHERE workspace_id = $1 AND session_id = $2`, [TEST_WORKSPACE, sessionId]);

async function readTables(client: PoolClient, sessionId: string): Promise<Record<string, unknown[]>> {
  const tables: Record<string, unknown[]> = {};
  for (const [name, table] of Object.entries(TABLES)) {
    const { rows } = await client.query<{ row: string }>(
      `SELECT to_jsonb(t)::text AS row FROM ${toName(table)} AS t WHERE workspace_id = $1 AND session_id = $2 ORDER BY 1`,
      [TEST_WORKSPACE, sessionId],
    );
    tables[name] = rows.map(({ row }) => row);
  }
  return tables;
}

async function writeRows(client: PoolClient, sessionId: string, derived: DerivedRows): Promise<void> {
  const copier = createRowCopier(client);
  for (const [name, table] of Object.entries(TABLES)) {
    await deleteRows(client, table, sessionId);
    const addRow = copier.openTable(table);
    for (const row of derived[name as keyof typeof TABLES]) addRow(row as never);
  }
  await copier.sendAll();
}

/** A session with a finding of every kind. */
function toSessionWithFindings(): MadeLine[] {
  const plain = { cacheRead: 0, cacheWrite: 0, isLongCache: false, isFinal: true, isSidechain: false } as const;
  const toLine = (minute: number, fields: Partial<MadeLine>): MadeLine => ({
    ...plain,
    ...{ kind: 'answer', index: minute, minute, tokens: 5, choice: 0, outcome: 'done', ...fields },
  });
  const toCalls = (first: number, fields: Partial<MadeLine>): MadeLine[] =>
    Array.from({ length: 4 }, (_, index) => index + first).flatMap((minute) => [
      toLine(minute, { ...fields, kind: 'call' }),
      toLine(minute, { ...fields, kind: 'result' }),
    ]);
  return [
    toLine(0, { kind: 'prompt' }),
    toLine(4, { cacheWrite: 70_001 }),
    toLine(100, { cacheWrite: 70_001, index: 8 }),
    ...toCalls(110, { choice: 0 }),
    ...toCalls(120, { choice: 5 }),
    ...toCalls(130, { choice: 6, outcome: 'failed' }),
    toLine(140, { kind: 'call', choice: 5 }),
  ];
}

it('derives the same rows as SQL, in every table', async () => {
  const kinds = new Set<string>();
  await fc.assert(
    fc.asyncProperty(madeLines, async (lines) => {
      const { bySql, derived, session, figures } = await deriveTwice(lines, () => undefined);
      expect(derived).toEqual(bySql);
      const { active_ms, total_messages } = figures;
      expect({ active_ms, total_messages }).toMatchObject({
        active_ms: session.active_ms,
        total_messages: session.total_messages,
      });
      for (const row of derived.findings ?? []) kinds.add(JSON.parse(String(row)).kind);
    }),
    { ...withFewStatements(), examples: [[toSessionWithFindings()]] },
  );
  expect([...kinds].sort()).toEqual([
    'cold-cache',
    'repeated-call',
    'repeated-error',
    'repeated-read',
    'unfinished-session',
  ]);
});

it('settles a response with several entries like SQL', async () => {
  const other = fc.record({
    source: fc.constantFrom('message' as const, 'progress' as const),
    timestamp: fc.constantFrom(null, '2026-01-01T22:31:00.000Z', '2026-01-01T23:59:00.000Z'),
    is_marked_copy: fc.boolean(),
    is_subagent: fc.boolean(),
    model: fc.constantFrom('unknown', null, 'claude-opus-4-5'),
    tokens_out: fc.constantFrom(1, 5, 9, 200, 300_000),
    tokens_in: fc.constantFrom(3, 4),
    is_unfinalised: fc.boolean(),
    cost_usd: fc.constantFrom(null, 0.25, 0.0000000001),
    line_number: fc.constantFrom(1, 40),
  });
  await fc.assert(
    fc.asyncProperty(madeLines, fc.array(other, { minLength: 1, maxLength: 8 }), async (lines, others) => {
      const added = [...others];
      const addCopies = (batch: TranscriptBatch): void => {
        const copies = batch.apiResponses.flatMap((response): ApiResponse[] => {
          const copy = added.pop();
          return copy === undefined ? [] : [{ ...response, ...copy }];
        });
        batch.apiResponses.push(...copies, ...copies.slice(0, 1));
      };
      const { bySql, derived } = await deriveTwice(lines, addCopies);
      expect(derived).toEqual(bySql);
    }),
    withFewStatements(),
  );
});

it('divides and rounds costs like Postgres', async () => {
  const units = fc.bigInt({ min: 0n, max: 10n ** 14n });
  const tokens = fc.integer({ min: 1, max: 1e8 });
  const quotient = fc
    .record({ units, tokens, otherUnits: units, otherTokens: tokens, factor: tokens })
    .map((each) => ({ ...each, factor: Math.min(each.tokens, each.otherTokens, each.factor) }));
  await fc.assert(
    fc.asyncProperty(fc.array(quotient, { minLength: 50, maxLength: 50 }), async (quotients) => {
      const toTexts = (name: keyof (typeof quotients)[number]) => quotients.map((each) => String(each[name]));
      const { rows } = await pool.pool.query<{ usd: string }>(
        `SELECT round(factor * ((units / 1e10)::numeric(20, 10) / tokens - (other_units / 1e10)::numeric(20, 10) / other_tokens), 10)::text AS usd
         FROM unnest($1::numeric[], $2::bigint[], $3::numeric[], $4::bigint[], $5::bigint[])
           AS q(units, tokens, other_units, other_tokens, factor)`,
        [toTexts('units'), toTexts('tokens'), toTexts('otherUnits'), toTexts('otherTokens'), toTexts('factor')],
      );
      const toRate = (costUnits: bigint, divisor: number) =>
        divide({ units: costUnits, scale: 10 }, ofInteger(divisor));
      const divided = quotients.map((each) =>
        toUsd(subtract(toRate(each.units, each.tokens), toRate(each.otherUnits, each.otherTokens)), each.factor),
      );
      expect(divided).toEqual(rows.map(({ usd }) => Number(usd)));
    }),
    withFewStatements(),
  );
});
