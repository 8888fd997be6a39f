import { createReadStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createApiKey, createDatabasePool, ensureWorkspace } from '@recount/db';
import { median, startChild } from './child.ts';
import type { Fixture } from './fixtures.ts';

export interface UploadFigures {
  readonly fixture: string;
  /** Speed relative to a server that only reads the requests. */
  readonly ratio: number;
  readonly drainMs: number;
  readonly uploadMs: number;
  /** Of an API process that handled this many uploads concurrently. */
  readonly concurrentUploads: number;
  readonly concurrentPeakRssBytes: number;
}

const WORKSPACE = '01J0000000000000000000BUPL';
const RUNS = 3;
const CONCURRENT_UPLOADS = 4;

/**
 * An upload to the API over a folder store, synced to disk and acknowledged, compared with draining the same request.
 */
export async function benchUpload(connectionString: string, folder: string, fixture: Fixture): Promise<UploadFigures> {
  const key = await createKey(connectionString);
  const directory = join(folder, `${fixture.name}-uploads`);
  await mkdir(directory);
  let uploadNumber = 0;
  const upload = (url: string): Promise<void> => send(url, key, fixture.path, uploadNumber++);
  const drains: number[] = [];
  const uploads: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    drains.push((await measure('drain', (url) => upload(url))).milliseconds);
    uploads.push((await measure('api', (url) => upload(url))).milliseconds);
  }
  const { peakRssBytes } = await measure('api', (url) =>
    Promise.all(Array.from({ length: CONCURRENT_UPLOADS }, () => upload(url))),
  );
  const [drainMs, uploadMs] = [median(drains), median(uploads)];
  return {
    fixture: fixture.name,
    ratio: drainMs / uploadMs,
    drainMs,
    uploadMs,
    concurrentUploads: CONCURRENT_UPLOADS,
    concurrentPeakRssBytes: peakRssBytes,
  };

  async function measure(subject: string, work: (url: string) => Promise<unknown>) {
    const server = await startChild('./upload-child.ts', subject, connectionString, directory);
    try {
      const start = performance.now();
      await work(server.firstLine);
      return { milliseconds: performance.now() - start, peakRssBytes: Number(await server.end()) };
    } finally {
      await server.end();
    }
  }
}

async function createKey(connectionString: string): Promise<string> {
  const { database, close } = createDatabasePool({ connectionString });
  try {
    await ensureWorkspace(database, WORKSPACE, 'bench-upload');
    return (await createApiKey(database, { workspaceId: WORKSPACE, name: 'bench', scopes: ['ingest'] })).key;
  } finally {
    await close();
  }
}

/** With a different first line each time, because the same bytes would be recognised as a duplicate. */
async function send(url: string, key: string, path: string, uploadNumber: number): Promise<void> {
  const message = request(`${url}/v1/transcripts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' },
  });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    message.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
    message.on('error', reject);
  });
  message.write(`${JSON.stringify({ type: 'mode', mode: 'normal', sessionId: `upload-${uploadNumber}` })}\n`);
  await pipeline(createReadStream(path, { highWaterMark: 256 * 1024 }), message);
  const status = await answered;
  if (status !== 202 && status !== 201) throw new Error(`the upload was answered with ${status}`);
}
