import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { AGENTS, createLocalClock, type JsonObject } from '@recount/core';
import {
  ensureWorkspace,
  type ReportFilter,
  type ReportKey,
  readSessionCosts,
  readUsageReport,
  resolveReportFilter,
} from '@recount/db';
import { createTestInstallation, type TestInstallation } from '@recount/ingest/testing';
import { type LocalLedger, reportUsage, scanHistory, settleLedger, type UsageKey } from '@recount/usage';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFakeContext } from '../testing/fake-context.ts';
import { findHistory } from './find-history.ts';

/** A vector of docs/conformance (a made history of one agent). */
interface Vector {
  id: string;
  agent: string;
  files: ({ path: string } & ({ lines: JsonObject[] } | { document: JsonObject | JsonObject[] }))[];
  expected: { responses: number; input: number; cacheRead: number; cacheWrite: number; output: number };
}

const FOLDER = resolve(import.meta.dirname, '../../../../docs/conformance');
const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.json'));
const vectors = await Promise.all(
  names.map(async (name) => JSON.parse(await readFile(join(FOLDER, name), 'utf8')) as Vector),
);
const NOTHING = { responses: 0, input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
const toHeader = (agent: string) => ({ recount: 'session', version: 1, agent, session: 's-1' });
/** Agents without a vector: Kilo CLI has opencode's tables, the others keep no usage. */
const others: Vector[] = [
  ...vectors
    .filter(({ id }) => id === 'opencode-2-rows')
    .map((vector): Vector => {
      const files = JSON.parse(JSON.stringify(vector.files).replaceAll('"agent":"opencode"', '"agent":"kilo"'));
      return { ...vector, id: vector.id.replace('opencode', 'kilo'), agent: 'kilo', files };
    }),
  {
    ...{ id: 'crush-session', agent: 'crush', expected: NOTHING },
    files: [
      {
        path: 'crush/s-1.jsonl',
        lines: [
          toHeader('crush'),
          { table: 'sessions', rowid: 1, row: { id: 's-1', title: 'Herons', cost: 0.25, created_at: 1_760_000_000 } },
        ],
      },
    ],
  },
  {
    ...{ id: 'cursor-session', agent: 'cursor', expected: NOTHING },
    files: [
      {
        path: 'cursor/s-1.jsonl',
        lines: [
          toHeader('cursor'),
          { table: 'meta', row: { agentId: 's-1', name: 'Herons', createdAt: 1_760_000_000_000 } },
        ],
      },
    ],
  },
];
const histories = [...vectors, ...others];
/** Neither reports nor `usage` should depend on whether a day begins at midnight UTC. */
const TIME_ZONE = 'Africa/Casablanca';
const KEYS = ['agent', 'model', 'day', 'project', 'session'] as const satisfies readonly (UsageKey & ReportKey)[];

let home: string;
let installation: TestInstallation;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'recount-history-'));
  installation = await createTestInstallation();
});
afterAll(async () => {
  await installation.close();
  await rm(home, { recursive: true });
});

/** Writes the vector's files to a separate folder, and ingests the same bytes into a separate workspace. */
async function bring({ id, files }: Vector): Promise<{
  ledger: LocalLedger;
  filter: ReportFilter;
  agents: (string | null)[];
}> {
  const folder = join(home, id);
  const { database } = installation;
  await ensureWorkspace(database.database, id, id);
  for (const file of files) {
    const path = join(folder, file.path);
    const text =
      'lines' in file ? file.lines.map((line) => `${JSON.stringify(line)}\n`).join('') : JSON.stringify(file.document);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    await installation.receive(text, { workspaceId: id, path });
  }
  await installation.work();
  const context = createFakeContext({ environment: { HOME: home } });
  const { files: found } = await findHistory(context, [folder]);
  expect(found).toHaveLength(files.length);
  const scanned = await scanHistory(found, { cacheDirectory: undefined });
  const ledger = settleLedger(scanned);
  const { filter } = await resolveReportFilter(database.database, id, { timeZone: TIME_ZONE, subagents: 'include' });
  return { ledger, filter, agents: [...new Set(scanned.files.map(({ agent }) => agent))] };
}

interface Figures {
  responses: number;
  tokens_in: number;
  tokens_out: number;
  cache_read: number;
  cache_write: number;
  cache_write_1h: number;
  thinking_tokens: number;
  total_tokens: number;
  web_search_requests: number;
  cost_usd: number | null;
  unfinalised: object;
  unpriced: object;
}

const pick = (figures: Figures) => ({
  responses: figures.responses,
  tokens_in: figures.tokens_in,
  tokens_out: figures.tokens_out,
  cache_read: figures.cache_read,
  cache_write: figures.cache_write,
  cache_write_1h: figures.cache_write_1h,
  thinking_tokens: figures.thinking_tokens,
  total_tokens: figures.total_tokens,
  web_search_requests: figures.web_search_requests,
  cost_usd: figures.cost_usd,
  unfinalised: figures.unfinalised,
  unpriced: figures.unpriced,
});

const byText = ([one]: [string, unknown], [other]: [string, unknown]): number => (one < other ? -1 : 1);

describe('one history, counted three times', () => {
  it('covers every agent', () => {
    const covered = new Set(histories.map(({ agent }) => agent));
    expect(AGENTS.map(({ id }) => id).filter((id) => !covered.has(id))).toEqual([]);
  });

  it.each(histories)('$id has the same figures in usage, in reports and in why', async (vector) => {
    const { ledger, filter, agents } = await bring(vector);
    expect(agents).toEqual([vector.agent]);
    const { database } = installation.database;
    const clock = createLocalClock(TIME_ZONE);
    const { totals } = reportUsage(ledger, [], {}, clock);
    expect({
      responses: totals.own.responses,
      input: totals.own.tokens_in,
      cacheRead: totals.own.cache_read,
      cacheWrite: totals.own.cache_write,
      output: totals.own.tokens_out,
    }).toEqual(vector.expected);

    for (const key of KEYS) {
      const local = reportUsage(ledger, [key], {}, clock).rows.map((row): [string, unknown] => [
        String(row[key] ?? null),
        [pick(row.own), row.shared.responses],
      ]);
      const report = await readUsageReport(database, filter, { groupBy: [key], limit: 1000 });
      const stored = report.rows
        .filter(({ own, shared }) => own.responses + shared.responses > 0)
        .map((row): [string, unknown] => [String(row[key] ?? null), [pick(row.own), row.shared.responses]]);
      expect([key, local.sort(byText)]).toEqual([key, stored.sort(byText)]);
      expect(pick(report.totals.own)).toEqual(pick(totals.own));
    }

    const bySession = await readUsageReport(database, filter, { groupBy: ['session'], limit: 1000 });
    for (const { session, own, shared } of bySession.rows) {
      const { parts } = await readSessionCosts(database, vector.id, session ?? '');
      const sumOf = (name: string): number =>
        parts.filter(({ token_class }) => token_class === name).reduce((sum, { tokens }) => sum + tokens, 0);
      expect([session, sumOf('input'), sumOf('output'), sumOf('cache_read'), sumOf('cache_write')]).toEqual([
        session,
        own.tokens_in + shared.tokens_in,
        own.tokens_out + shared.tokens_out,
        own.cache_read + shared.cache_read,
        own.cache_write + shared.cache_write,
      ]);
    }
  });
});
