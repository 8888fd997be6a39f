import type { DiskUse, Ingestion, LiveList, Readiness, TranscriptList, WorkspacePrices } from '@recount/contract';
import type { Database } from '@recount/db';
import type { PriceFile } from '@recount/prices';
import { type ApiPlace, createApiClient } from '../connection/api-client.ts';
import { type ApiOptions, findApi } from '../connection/find-api.ts';
import { sendRequest } from '../connection/send-request.ts';
import { toDataDirectory } from '../data-directory/data-directory.ts';
import { findRunning } from '../data-directory/installation-lock.ts';
import { measureFolder } from '../data-directory/measure-folder.ts';
import { readPriceFile } from '../prices/price-file.ts';
import { type CliContext, START_COMMAND } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { MAX_FAILURES, type Status } from './status.ts';

/**
 * Queries the named server; else the local installation if it is running, or the database of DATABASE_URL; else the
 * server that this machine is connected to. Throws CliError if there is none.
 */
export async function readStatus(context: CliContext, options: ApiOptions): Promise<Status> {
  const { RECOUNT_SERVER, DATABASE_URL } = context.environment;
  const directory = toDataDirectory(context);
  const spoolBytes = await measureFolder(directory.liveSpool);
  const isNamed = options.server !== undefined || Boolean(RECOUNT_SERVER);
  const running = isNamed || DATABASE_URL ? undefined : await findRunning(directory.lock);
  if (running === undefined && (isNamed || !DATABASE_URL)) {
    const place = await findApi(context, options);
    if (place !== undefined) return await readServerStatus(place, spoolBytes);
    throw new CliError(
      `recount is not running; its data are in ${directory.path}. Start it with \`${START_COMMAND}\`.`,
    );
  }
  const status = await readDatabaseStatus(
    context,
    spoolBytes,
    running?.rawStore ?? context.environment.RECOUNT_RAW_STORE,
  );
  if (running === undefined) return status;
  const { pid, url = null } = running;
  // The programs that run may have other settings than this command.
  const place = url === null ? undefined : await findApi(context, options).catch(() => undefined);
  const prices = place && (await readServerPrices(place).catch(() => null));
  return {
    ...status,
    prices: prices ?? status.prices,
    running: { pid, url, is_ready: url !== null },
    data_directory: directory.path,
    disk: { ...status.disk, raw_bytes: await measureStore(running.rawStore) },
  };
}

async function readServerStatus(place: ApiPlace, spoolBytes: number): Promise<Status> {
  const { request } = createApiClient(place);
  const ask = async <Answer>(path: string, query = {}): Promise<Answer> => {
    const answer = await request<Answer>(path, { query });
    if (answer === undefined) throw new CliError(`${place.url} does not know ${path}: it is older than this recount.`);
    return answer;
  };
  const [ingestion, disk, live, failed, prices, { isReady, storeFault }] = await Promise.all([
    ask<Ingestion>('/v1/ingestion'),
    ask<DiskUse>('/v1/disk'),
    ask<LiveList>('/v1/live', { state: 'running' }),
    ask<TranscriptList>('/v1/transcripts', { status: 'failed', order: 'desc', limit: MAX_FAILURES }),
    readServerPrices(place).catch(() => null),
    readReadiness(place),
  ]);
  return {
    running: { pid: null, url: place.url, is_ready: isReady },
    data_directory: null,
    raw_store_fault: storeFault,
    transcripts: ingestion.transcripts,
    live: { running_streams: live.streams.length },
    search: ingestion.search,
    disk: { ...disk, spool_bytes: spoolBytes },
    prices,
    last_failures: failed.transcripts.map(({ id, path, failure_reason: reason, created_at }) => ({
      transcript_id: id,
      path,
      reason,
      created_at,
    })),
  };
}

/** Null for a bucket, or if an installation that is starting has not said where its store is. */
async function measureStore(location: string | undefined): Promise<number | null> {
  return location === undefined || /^\w+:\/\//.test(location) ? null : await measureFolder(location);
}

interface ServerReadiness {
  isReady: boolean;
  storeFault: string | null;
}

/** The server's answer names its parts, also if one of them is not ready. */
async function readReadiness({ url }: ApiPlace): Promise<ServerReadiness> {
  try {
    const { status, text } = await sendRequest(new URL(`${url}/readyz`), { method: 'GET', headers: {} });
    const { checks } = JSON.parse(text) as Partial<Readiness>;
    const outcome = checks?.raw_store ?? 'ok';
    const fault = `The server cannot write its raw store (${outcome}), and refuses uploads. \`recount doctor\` there says what to do.`;
    return { isReady: status === 200, storeFault: outcome === 'ok' ? null : fault };
  } catch {
    return { isReady: false, storeFault: null };
  }
}

/** Tries it in the workspaces of the database. Null if it can be written, or if `location` is unknown. */
async function readStoreFault(
  { environment }: CliContext,
  database: Database,
  location: string | undefined,
): Promise<string | null> {
  if (!location) return null;
  const [{ readRawStoreConfig }, { createRawStore }, { findStoreFault }, { listWorkspaces }] = await Promise.all([
    import('@recount/service/config'),
    import('@recount/storage'),
    import('@recount/ingest'),
    import('@recount/db'),
  ]);
  const config = readRawStoreConfig({ ...environment, RECOUNT_RAW_STORE: location });
  const rawStore = await createRawStore(config.location, config.s3);
  try {
    const workspaces = await listWorkspaces(database);
    const fault = await findStoreFault(
      { rawStore },
      workspaces.map(({ id }) => id),
    );
    return fault === undefined
      ? null
      : `${location} cannot be written, so uploads are refused: ${fault.message}. ${fault.advice}.`;
  } finally {
    await rawStore.close();
  }
}

/** Null if the server is too old to say. */
async function readServerPrices(place: ApiPlace): Promise<Status['prices']> {
  const prices = await createApiClient(place).request<Partial<WorkspacePrices>>('/v1/prices', {});
  const { price_version: version, price_date: date, price_file: file } = prices ?? {};
  return version === undefined || date === undefined ? null : { version, date, file: file ?? null };
}

/** The lists by the settings of this command, which equal the programs' if they are set alike. */
async function readLocalPrices(context: CliContext): Promise<Status['prices']> {
  const { createPriceTable, toShownLocation } = await import('@recount/prices');
  const location = context.environment.RECOUNT_PRICE_FILE?.trim();
  const toStatus = (file: PriceFile | undefined, error: string | null): Status['prices'] => {
    const { version, date } = createPriceTable({ overrides: [], file });
    if (!location) return { version, date, file: null };
    const shown = { location: toShownLocation(location), date: file?.date ?? null, error };
    return { version, date, file: { ...shown, invalid_count: file?.issueCount ?? 0 } };
  };
  try {
    return toStatus(await readPriceFile(context), null);
  } catch (error) {
    return toStatus(undefined, (error as Error).message);
  }
}

/** Counts over all workspaces. */
async function readDatabaseStatus(
  context: CliContext,
  spoolBytes: number,
  rawStore: string | undefined,
): Promise<Status> {
  const [{ withDatabase }, db] = await Promise.all([
    import('../connection/open-installation.ts'),
    import('@recount/db'),
  ]);
  return await withDatabase(context, async ({ database }) => {
    const backlog = await db.readSearchBacklog(database);
    const disk = await db.readDiskUse(database);
    const live = await database.execute<{ count: number }>(db.sql`
      SELECT count(*)::int AS count FROM recount.live_streams WHERE state <> 'closed' AND state = 'open'`);
    const failures = await database.execute<Status['last_failures'][number] & Record<string, unknown>>(db.sql`
      SELECT id AS transcript_id, path, failure_reason AS reason,
        to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS created_at
      FROM recount.transcripts WHERE status = 'failed' ORDER BY id DESC LIMIT ${MAX_FAILURES}`);
    return {
      running: null,
      data_directory: null,
      raw_store_fault: await readStoreFault(context, database, rawStore),
      transcripts: await db.countTranscriptsByStatus(database),
      live: { running_streams: live.rows[0]?.count ?? 0 },
      search: { waiting_sessions: backlog.waitingSessions, failing_sessions: backlog.failingSessions },
      disk: {
        database_bytes: disk.databaseBytes,
        search_bytes: disk.searchBytes,
        wal_bytes: disk.walBytes,
        raw_bytes: null,
        spool_bytes: spoolBytes,
      },
      prices: await readLocalPrices(context),
      last_failures: failures.rows,
    };
  });
}
