import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startRecount, waitUntil } from '../live-run/run-recount.ts';
import { NOTHING_REPORTED, REPORTED, type SaidRequest, type TelemetryFound } from './compare-telemetry.ts';
import { type BlockFields, type Found, type FoundIssue, type FoundResponse, toFoundSession } from './found.ts';
import type { TelemetryTarget } from './programs/program.ts';
import { runRecount } from './recount.ts';

/** A recount that was started for the lab, with a separate database. */
export interface Store {
  /** Sends the sessions of a program's home, and returns what was stored of them. */
  upload(environment: Record<string, string>): Promise<Found>;
  /** The place that programs send their telemetry to. */
  telemetry: TelemetryTarget;
  /** The telemetry that was received since the last call, and what recount reports of it. */
  readTelemetry(): Promise<TelemetryFound>;
  close(): Promise<void>;
}

const READY = /Ctrl-C stops it/;

export async function startStore(): Promise<Store> {
  const home = await mkdtemp(join(tmpdir(), 'recount-lab-store-'));
  const data = join(home, 'data');
  // An empty folder, in place of the samples.
  const nothing = join(home, 'nothing');
  await mkdir(nothing);
  const up = startRecount(home, ['up', '--port', '0', nothing], { RECOUNT_DATA_DIR: data });
  const close = async () => {
    up.child.kill('SIGTERM');
    await up.ended;
    // As root, the database is elsewhere, and a note says where.
    const note = await readFile(join(data, 'postgres/where-the-data-are.txt'), 'utf8').catch(() => '');
    const elsewhere = /^Its data are in (\/.+)$/m.exec(note)?.[1];
    if (elsewhere !== undefined) await rm(elsewhere, { recursive: true, force: true });
    await rm(home, { recursive: true, force: true });
  };
  try {
    await waitUntil(() => READY.test(up.stdout() + up.stderr()) || up.child.exitCode !== null, 'recount is up');
    const url = /^URL +(\S+)$/m.exec(up.stdout())?.[1];
    const key = /^API key +(\S+)$/m.exec(up.stdout())?.[1];
    if (url === undefined || key === undefined) throw new Error(`recount did not start: ${up.stderr().slice(-1_000)}`);
    const { databaseUrl } = JSON.parse(await readFile(join(data, 'running.json'), 'utf8')) as { databaseUrl: string };
    const seen = new Set<string>();
    // The samples.
    await readStored(databaseUrl, seen);
    return {
      telemetry: { url, key },
      readTelemetry: createTelemetryReader(databaseUrl, { url, key }),
      async upload(environment) {
        const words = ['backfill', '--yes', '--json', '--server', url, '--key', key];
        await runRecount(words, { ...environment, RECOUNT_DATA_DIR: join(home, 'sender') });
        return await readStored(databaseUrl, seen);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Reads the telemetry that is new at each call, and how much recount's report about it has grown. */
function createTelemetryReader(databaseUrl: string, { url, key }: TelemetryTarget): () => Promise<TelemetryFound> {
  const known = new Set<string>();
  let before: TelemetryFound['reported'] | undefined;
  return async () => {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      const { rows } = await client.query<SaidRequest>(
        `SELECT agent || ' ' || record_key AS key, purpose, tokens_in::int AS input, cache_read::int AS "cacheRead",
           cache_write::int AS "cacheWrite", tokens_out::int AS output
         FROM recount.telemetry_records WHERE kind = 'request' AND NOT agent || ' ' || record_key = ANY($1)`,
        [[...known]],
      );
      for (const row of rows) known.add(row.key);
      const headers = { authorization: `Bearer ${key}` };
      const answer = await fetch(`${url}/v1/analytics/telemetry?group_by=agent&limit=1000`, { headers });
      if (!answer.ok) throw new Error(`recount answered ${answer.status} for telemetry`);
      const report = (await answer.json()) as { rows: TelemetryFound['reported'][] };
      const reported = { ...NOTHING_REPORTED };
      for (const row of report.rows) for (const name of REPORTED) reported[name] += row[name];
      const grown = { ...reported };
      for (const name of REPORTED) grown[name] -= before?.[name] ?? 0;
      before = reported;
      return { requests: rows, reported: grown };
    } finally {
      await client.end();
    }
  };
}

interface SessionRow {
  transcript_id: string;
  session_id: string;
  agent: string;
  prompts: number;
}

/** The sessions that are not in `seen` yet, which then has them. */
async function readStored(databaseUrl: string, seen: Set<string>): Promise<Found> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<SessionRow>(
      `SELECT transcript_id, session_id, agent, prompt_count::int AS prompts FROM analytics.transcripts
       WHERE is_primary AND NOT session_id = ANY($1) ORDER BY session_id`,
      [[...seen]],
    );
    const sessions: Found['sessions'] = [];
    for (const row of rows) {
      seen.add(row.session_id);
      sessions.push(await readSession(client, row));
    }
    return {
      sessions,
      responses: await readResponses(
        client,
        rows.map(({ session_id }) => session_id),
      ),
    };
  } finally {
    await client.end();
  }
}

async function readSession(client: Client, row: SessionRow): Promise<Found['sessions'][number]> {
  const { rows: blocks } = await client.query<BlockFields>(
    `SELECT m.message_type, m.metadata AS message_metadata, b.content_text, b.tool_name, b.tool_use_id,
       b.tool_result_id, b.result_text
     FROM analytics.content_blocks b JOIN analytics.messages m USING (workspace_id, transcript_id, message_id)
     WHERE transcript_id = $1 ORDER BY m.ordinal, b.block_order`,
    [row.transcript_id],
  );
  const { rows: issues } = await client.query<FoundIssue>(
    'SELECT code, severity, message FROM analytics.ingest_issues WHERE transcript_id = $1',
    [row.transcript_id],
  );
  return toFoundSession({ id: row.session_id, agent: row.agent, promptCount: row.prompts }, blocks, issues);
}

async function readResponses(client: Client, sessionIds: readonly string[]): Promise<FoundResponse[]> {
  const { rows } = await client.query<FoundResponse>(
    `SELECT session_id AS "sessionId", model, tokens_in::int AS input, cache_read::int AS "cacheRead",
       cache_write::int AS "cacheWrite", tokens_out::int AS output, cache_write_1h::int AS "cacheWrite1h",
       thinking_tokens::int AS reasoning, service_tier AS "serviceTier", speed
     FROM analytics.api_responses WHERE session_id = ANY($1)`,
    [sessionIds],
  );
  return rows;
}
