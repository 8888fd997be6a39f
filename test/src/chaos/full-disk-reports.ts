import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Installation } from './installation.ts';

export interface FullDiskReports {
  /** Jobs that were postponed for lack of space, some repeatedly. */
  putOff: number;
  /** Attempts that were used up by it, one line each. There must be none. */
  charged: string[];
}

/** SQLSTATEs of exhausted resources. */
const EXHAUSTED = /^Postgres error 53/;

/** The effects of a full database disk, according to the workers' logs. */
export async function readFullDiskReports({ directory, workers }: Installation): Promise<FullDiskReports> {
  const logs = await Promise.all(workers.map(({ name }) => readFile(join(directory, 'logs', `${name}.log`), 'utf8')));
  const reports: FullDiskReports = { putOff: 0, charged: [] };
  for (const line of logs.flatMap((log) => log.split('\n'))) {
    // A killed worker leaves half a line.
    if (!line.startsWith('{') || !line.endsWith('}')) continue;
    const { msg, reason, transcriptId } = JSON.parse(line);
    if (!EXHAUSTED.test(reason)) continue;
    if (msg === 'job put off by an outage') reports.putOff += 1;
    if (msg === 'job failed') reports.charged.push(`${transcriptId}: an attempt was used up: ${reason}`);
  }
  return reports;
}
