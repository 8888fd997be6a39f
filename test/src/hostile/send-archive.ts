import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiProcess, CLI, readPeakOfProgram } from './api-process.ts';
import { inTemporaryFolder } from './check-archives.ts';
import { type MemoryCase, toTranscript } from './memory-cases.ts';
import { writeTarGzOf, writeZipOf } from './write-archives.ts';

const SAMPLE_INTERVAL_MS = 50;

/** Sends a case as the member of an archive, by `recount backfill`, whose peak memory is returned. */
export async function sendArchive(api: ApiProcess, kind: 'tar' | 'zip', each: MemoryCase, session: string) {
  return await inTemporaryFolder(async (folder) => {
    const path = join(folder, kind === 'tar' ? 'one.tar.gz' : 'one.zip');
    const name = `projects/-hostile/${session}.jsonl`;
    let bytes = 0;
    for (const chunk of toTranscript(each, session)) bytes += chunk.length;
    if (kind === 'tar') await writeTarGzOf(path, name, bytes, toTranscript(each, session));
    else await writeZipOf(path, name, Buffer.concat([...toTranscript(each, session)]));
    const { size: sentBytes } = await stat(path);
    return { bytes, sentBytes, senderPeakBytes: await backfill(api, path) };
  });
}

/** Throws unless the archive is sent. */
async function backfill(api: ApiProcess, path: string): Promise<number> {
  const child = spawn(process.execPath, [CLI, 'backfill', path, '--server', api.url, '--no-wait', '--json'], {
    env: { ...api.environment, RECOUNT_API_KEY: api.key },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = Promise.all([text(child.stdout), once(child, 'close')]);
  let peakBytes = 0;
  while (child.exitCode === null && child.signalCode === null) {
    peakBytes = Math.max(peakBytes, (await readPeakOfProgram(child)) ?? 0);
    await sleep(SAMPLE_INTERVAL_MS);
  }
  const [result] = await ended;
  if (child.exitCode !== 0) throw new Error(`backfill ended with ${child.signalCode ?? child.exitCode}: ${result}`);
  return peakBytes;
}
