import { sessionOptions } from '@recount/db';
import { PgBoss, type Queue } from 'pg-boss';

export const INGEST_QUEUE = 'ingest-transcript';
/** For small transcripts that come for the first time, which workers take by the dozen. */
export const SMALL_INGEST_QUEUE = 'ingest-transcript-small';
export const DEAD_LETTER_QUEUE = 'ingest-transcript-dead';

/** Every job of a transcript is in one of these. */
export const INGEST_QUEUES = [INGEST_QUEUE, SMALL_INGEST_QUEUE];

/** Jobs of small transcripts that a worker takes together. */
export const MAX_GROUP_JOBS = 128;

/** A worker silent for this long counts as dead, and its jobs are retried. pg-boss requires at least 10. */
const HEARTBEAT_SECONDS = 10;
const DAY_SECONDS = 24 * 60 * 60;

/** Attempts before a transcript becomes a dead letter, about 2, 4, 8, 16 seconds apart, with jitter. */
export const MAX_ATTEMPTS = 5;

/**
 * The number of times that a job may be handed back because the store or database was unavailable (which its transcript
 * may have caused) before that counts as an attempt. It lasts about an hour, because the pauses grow to five minutes.
 */
export const MAX_OUTAGE_HAND_BACKS = 20;

export const ingestQueueOptions = {
  policy: 'standard',
  retryLimit: MAX_ATTEMPTS - 1,
  retryDelay: 2,
  retryBackoff: true,
  retryDelayMax: 300,
  heartbeatSeconds: HEARTBEAT_SECONDS,
  // The heartbeat shows whether a worker lives; a large transcript may take long.
  expireInSeconds: DAY_SECONDS - 1,
  // pg-boss deletes jobs that wait longer; `recount doctor` finds transcripts without a job.
  retentionSeconds: 365 * DAY_SECONDS,
  deleteAfterSeconds: DAY_SECONDS,
  deadLetter: DEAD_LETTER_QUEUE,
  notify: true,
} satisfies Omit<Queue, 'name'>;

const deadLetterQueueOptions = {
  policy: 'standard',
  retryLimit: 1000,
  retryDelay: 5,
  retryBackoff: true,
  retryDelayMax: 300,
  retentionSeconds: 365 * DAY_SECONDS,
  deleteAfterSeconds: 30 * DAY_SECONDS,
  notify: true,
} satisfies Omit<Queue, 'name'>;

/** Creates or upgrades the queue's tables and queues. Many processes may call it concurrently. */
export async function migrateQueue(connectionString: string): Promise<void> {
  const boss = new PgBoss({
    ...sessionOptions,
    connectionString,
    application_name: 'recount migrate queue',
    max: 2,
    supervise: false,
    schedule: false,
  });
  const failures: Error[] = [];
  boss.on('error', (error) => failures.push(error));
  await boss.start();
  try {
    for (const [name, options] of [
      [DEAD_LETTER_QUEUE, deadLetterQueueOptions],
      [INGEST_QUEUE, ingestQueueOptions],
      [SMALL_INGEST_QUEUE, ingestQueueOptions],
    ] as const) {
      const { policy: _policy, ...changeable } = options;
      await boss.createQueue(name, options);
      await boss.updateQueue(name, changeable);
    }
  } finally {
    await boss.stop({ graceful: false });
  }
  if (failures[0] !== undefined) throw failures[0];
}
