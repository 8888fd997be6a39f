import type { Queue } from 'pg-boss';

export const INGEST_QUEUE = 'ingest-transcript';
/** Of small transcripts that come for the first time, which workers take by the dozen. */
export const SMALL_INGEST_QUEUE = 'ingest-transcript-small';
export const DEAD_LETTER_QUEUE = 'ingest-transcript-dead';

/** Every job of a transcript is in one of these. */
export const INGEST_QUEUES = [INGEST_QUEUE, SMALL_INGEST_QUEUE];

/** Jobs of small transcripts that a worker takes at once. */
export const MAX_GROUP_JOBS = 128;

/** A worker that is silent for this long is taken for dead, and its jobs come back. pg-boss allows no less than 10. */
const HEARTBEAT_SECONDS = 10;
const DAY_SECONDS = 24 * 60 * 60;

/** Attempts before a transcript goes to the dead letters: about 2, 4, 8, 16 seconds apart, with jitter. */
export const MAX_ATTEMPTS = 5;

/**
 * How often a job may be handed back because store or database were away, which its transcript may have brought about,
 * before that counts as an attempt: about an hour, as the pauses grow to five minutes.
 */
export const MAX_OUTAGE_HAND_BACKS = 20;

export const ingestQueueOptions = {
  policy: 'standard',
  retryLimit: MAX_ATTEMPTS - 1,
  retryDelay: 2,
  retryBackoff: true,
  retryDelayMax: 300,
  heartbeatSeconds: HEARTBEAT_SECONDS,
  // The heartbeat tells whether a worker lives; a large transcript may take long.
  expireInSeconds: DAY_SECONDS - 1,
  // pg-boss deletes jobs that wait longer; `recount doctor` finds transcripts without a job.
  retentionSeconds: 365 * DAY_SECONDS,
  deleteAfterSeconds: DAY_SECONDS,
  deadLetter: DEAD_LETTER_QUEUE,
  notify: true,
} satisfies Omit<Queue, 'name'>;

export const deadLetterQueueOptions = {
  policy: 'standard',
  retryLimit: 1000,
  retryDelay: 5,
  retryBackoff: true,
  retryDelayMax: 300,
  retentionSeconds: 365 * DAY_SECONDS,
  deleteAfterSeconds: 30 * DAY_SECONDS,
  notify: true,
} satisfies Omit<Queue, 'name'>;
