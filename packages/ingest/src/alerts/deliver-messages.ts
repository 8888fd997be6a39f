import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type DeliveryRow,
  type DestinationRow,
  deleteEndedDeliveries,
  findDestination,
  findDueDelivery,
  listDueDestinations,
  listWorkspaces,
  settleDelivery,
} from '@recount/db';
import pLimit from 'p-limit';
import { toFailureReason } from '../failure-reason.ts';
import type { IngestDependencies } from '../ingest-dependencies.ts';
import { toPauseSeconds } from '../queue/attempts.ts';
import { type LoopDeps, type LoopOptions, runLoop } from '../run-loop.ts';
import { AlertDeliveryError } from './alert-delivery-error.ts';
import { type AlertOptions, type DestinationSecret, toSecretPlace } from './alert-options.ts';
import { AddressError } from './check-address.ts';
import { describeMessage } from './describe-message.ts';
import { SecretBoxError } from './secret-box.ts';
import { sendEmail } from './send-email.ts';
import { sendWebhook, signWebhook } from './send-webhook.ts';

interface Deps extends Pick<IngestDependencies, 'database'> {
  /** Milliseconds since 1970. Default Date.now. */
  now?: () => number;
  /** Called after each attempt. */
  onReport: (report: DeliveryReport) => void;
}

interface DeliveryReport {
  workspaceId: string;
  deliveryId: string;
  destinationId: string;
  state: DeliveryRow['state'];
  attempts: number;
  reason?: string;
}

const DEFAULT_INTERVAL_MS = 5000;
const DEFAULT_TIMEOUT_MS = 15_000;
/** Times the timeout that an attempt takes at most: mail has several steps, and so has the search for an address. */
const STEPS = 4;
/** Destinations of all workspaces that are sent to at a time. */
const MAX_CONCURRENT = 64;
/** Destinations whose latest attempt failed, so that many that hang leave room for the others. */
const MAX_CONCURRENT_FAILING = 16;
const MAX_PAUSE_SECONDS = 6 * 60 * 60;
/** About 2, 4, 8 seconds and so on apart, about a day in all. */
const MAX_DELIVERY_ATTEMPTS = 17;
const KEPT_DAYS = 30;
const DAY_MS = 86_400_000;
const CLEANING_INTERVAL_MS = 60 * 60_000;

/**
 * Sends what is due in a workspace, and stores the outcomes: to each destination one message after another, until one
 * fails, and to several destinations at a time. Each message is sent at least once: if the process is killed between
 * sending and storing, the message is sent again with the same id. Once `signal` aborts, no receiver is waited for, and
 * what was not sent by then waits as before.
 */
export async function deliverMessages(
  deps: Deps,
  workspaceId: string,
  options: AlertOptions,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const senders = createSenders(deps, options, signal);
  await senders.start(workspaceId);
  await senders.finish();
}

interface Senders {
  /** Starts a sender for each destination of a workspace that a message is due for and that has none at work. */
  start: (workspaceId: string) => Promise<void>;
  /** True if a sender is at work. */
  isBusy: () => boolean;
  /** Waits for the senders that are at work. Never rejects, and leaves failures to `finish`. */
  settle: () => Promise<unknown>;
  /** Waits for all senders. Rejects if the outcome of an attempt could not be read or stored since the last call. */
  finish: () => Promise<void>;
}

function createSenders(deps: Deps, options: AlertOptions, signal: AbortSignal): Senders {
  const { database, now = Date.now } = deps;
  const atWork = new Map<string, Promise<void>>();
  const failing = new Set<string>();
  const errors: unknown[] = [];
  const forWell = pLimit(MAX_CONCURRENT);
  const forFailing = pLimit(MAX_CONCURRENT_FAILING);

  const sendAll = async (workspaceId: string, destinationId: string): Promise<void> => {
    // A message that fails now is due later, so that each has one attempt.
    const due = { now: new Date(now()).toISOString(), destinationId };
    while (!signal.aborted) {
      const destination = await findDestination(database.database, workspaceId, destinationId);
      if (destination === undefined) return;
      const delivery = await findDueDelivery(database.database, workspaceId, due);
      if (delivery === undefined) return;
      const isSent = await deliver(deps, destination, delivery, { ...options, signal });
      if (isSent) failing.delete(destinationId);
      else {
        failing.add(destinationId);
        return;
      }
    }
  };

  return {
    async start(workspaceId) {
      const moment = new Date(now()).toISOString();
      for (const id of await listDueDestinations(database.database, workspaceId, moment)) {
        if (atWork.has(id)) continue;
        const limit = failing.has(id) ? forFailing : forWell;
        const sending = limit(() => sendAll(workspaceId, id))
          .catch((error: unknown) => void errors.push(error))
          .finally(() => atWork.delete(id));
        atWork.set(id, sending);
      }
    },
    isBusy: () => atWork.size > 0,
    settle: () => Promise.all(atWork.values()),
    async finish() {
      await Promise.all(atWork.values());
      const [error] = errors.splice(0);
      if (error !== undefined) throw error;
    },
  };
}

/** Tries to send a message, and stores the outcome unless the worker stops. True if it was sent. */
async function deliver(
  { database, now = Date.now, onReport }: Deps,
  destination: DestinationRow,
  delivery: DeliveryRow,
  options: AlertOptions & { signal: AbortSignal },
): Promise<boolean> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, signal } = options;
  const ended = new AbortController();
  const ifAborted = (other: AbortSignal, result: unknown): Promise<unknown> =>
    once(other, 'abort', { signal: ended.signal }).then(
      () => result,
      () => result,
    );
  const deadline = AbortSignal.timeout(timeoutMs * STEPS);
  const limits = { ...options, signal: AbortSignal.any([signal, deadline]) };
  const error = await Promise.race([
    attempt(() => send(destination, delivery, limits, now())),
    ifAborted(signal, STOPPED),
    ifAborted(deadline, new AlertDeliveryError('The receiver did not answer in time')),
  ]);
  ended.abort();
  if (error === STOPPED || signal.aborted) return false;
  const outcome = toOutcome(delivery, error, now());
  await settleDelivery(database.database, delivery, outcome);
  const { state, attempts, failure_reason: reason } = outcome;
  const place = { workspaceId: delivery.workspace_id, deliveryId: delivery.id, destinationId: destination.id };
  onReport({ ...place, state, attempts, ...(reason !== null && { reason }) });
  return state === 'sent';
}

const STOPPED = Symbol('stopped');

async function attempt(work: () => Promise<void>): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error ?? new Error('unknown');
  }
}

type Outcome = Parameters<typeof settleDelivery>[2];

function toOutcome({ attempts: before }: DeliveryRow, error: unknown, nowMs: number): Outcome {
  const attempts = before + 1;
  const at = new Date(nowMs).toISOString();
  if (error === undefined) {
    return { state: 'sent', attempts, failure_reason: null, next_attempt_at: at, ended_at: at };
  }
  const isKnown =
    error instanceof AlertDeliveryError || error instanceof AddressError || error instanceof SecretBoxError;
  const failure_reason = isKnown ? error.message : toFailureReason(error);
  const { isFinal = false, retryAfterSeconds = 0 } = error instanceof AlertDeliveryError ? error : {};
  if (isFinal || attempts >= MAX_DELIVERY_ATTEMPTS) {
    return { state: 'failed', attempts, failure_reason, next_attempt_at: at, ended_at: at };
  }
  const pause = Math.max(
    toPauseSeconds(attempts, Math.random(), MAX_PAUSE_SECONDS),
    Math.min(retryAfterSeconds, MAX_PAUSE_SECONDS),
  );
  const next_attempt_at = new Date(nowMs + pause * 1000).toISOString();
  return { state: 'waiting', attempts, failure_reason, next_attempt_at, ended_at: null };
}

async function send(
  destination: DestinationRow,
  delivery: DeliveryRow,
  { mailServer, secretBox, timeoutMs = DEFAULT_TIMEOUT_MS, ...rules }: AlertOptions & { signal: AbortSignal },
  nowMs: number,
): Promise<void> {
  const { workspace_id: workspaceId, id, kind, hint, secret } = destination;
  const words = describeMessage(delivery);
  if (kind === 'email') {
    if (mailServer === undefined) throw new AlertDeliveryError('The workers have no mail server: set RECOUNT_SMTP_URL');
    const mail = { id: delivery.id, to: hint.split(', '), ...words };
    return await sendEmail(mailServer, mail, { timeoutMs, signal: rules.signal });
  }
  if (secretBox === undefined) throw new AlertDeliveryError('The workers have no RECOUNT_SECRET_KEY');
  const { url, signing_secret: signingSecret = '' } = secretBox.open(
    toSecretPlace(workspaceId, id),
    secret ?? '',
  ) as DestinationSecret;
  if (kind === 'slack') {
    const body = JSON.stringify({ text: toSlackText(words.subject, words.text) });
    return await sendWebhook({ url, headers: {}, body }, { ...rules, timeoutMs });
  }
  const { event: type, payload: data, created_at: timestamp } = delivery;
  const body = JSON.stringify({ type, timestamp, data });
  const headers = signWebhook(signingSecret, delivery.id, Math.floor(nowMs / 1000), body);
  await sendWebhook({ url, headers, body }, { ...rules, timeoutMs });
}

/** Slack's markup has three special characters; escaping them also keeps names from mentioning everyone. */
function toSlackText(subject: string, text: string): string {
  const toEscaped = (value: string): string =>
    value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `*${toEscaped(subject)}*\n${toEscaped(text)}`;
}

/**
 * Sends the messages of all workspaces, in one process at a time. It looks for them immediately and then every five
 * seconds, also while receivers are slow.
 */
export async function runDeliveries(
  deps: Deps & LoopDeps,
  options: AlertOptions,
  { signal, intervalMs = DEFAULT_INTERVAL_MS }: LoopOptions,
): Promise<void> {
  const { database, now = Date.now } = deps;
  let cleanedMs = Number.NEGATIVE_INFINITY;
  const startAll = async (senders: Senders): Promise<void> => {
    const isCleaning = now() - cleanedMs >= CLEANING_INTERVAL_MS;
    for (const { id } of await listWorkspaces(database.database)) {
      if (signal.aborted) return;
      await senders.start(id);
      const before = new Date(now() - KEPT_DAYS * DAY_MS).toISOString();
      if (isCleaning) await deleteEndedDeliveries(database.database, id, before);
    }
    if (isCleaning) cleanedMs = now();
  };
  await runLoop(deps, { signal, intervalMs, lock: 'alerts' }, async (_attempt, ended) => {
    const pause = (): Promise<unknown> => sleep(intervalMs, undefined, { signal: ended }).catch(() => undefined);
    const senders = createSenders(deps, options, ended);
    try {
      do {
        await startAll(senders);
        if (senders.isBusy()) await Promise.race([senders.settle(), pause()]);
      } while (senders.isBusy() && !ended.aborted);
    } finally {
      await senders.finish();
    }
  });
}
