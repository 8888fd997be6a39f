import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Installation } from './installation.ts';

export interface FullDiskReports {
  /** Jobs that were put off as there was no room, some of them more than once. */
  putOff: number;
  /** Attempts that were used up for it, which none may be: one line each. */
  charged: string[];
}

/** SQLSTATEs of exhausted resources. */
const EXHAUSTED = /^Postgres error 53/;

/** What a full disk of the database cost, by the workers' logs. */
export async function readFullDiskReports({ directory, workers }: Installation): Promise<FullDiskReports> {
  const logs = await Promise.all(workers.map(({ name }) => readFile(join(directory, 'logs', `${name}.log`), 'utf8')));
  const reports: FullDiskReports = { putOff: 0, charged: [] };
  for (const line of logs.flatMap((log) => log.split('\n'))) {
    // A worker that is killed leaves half a line.
    if (!line.startsWith('{') || !line.endsWith('}')) continue;
    const { msg, reason, transcriptId } = JSON.parse(line);
    if (!EXHAUSTED.test(reason)) continue;
    if (msg === 'job put off by an outage') reports.putOff += 1;
    if (msg === 'job failed') reports.charged.push(`${transcriptId}: an attempt was used up: ${reason}`);
  }
  return reports;
}
