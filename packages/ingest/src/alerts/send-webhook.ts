import { createHmac } from 'node:crypto';
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { AlertDeliveryError } from './alert-delivery-error.ts';
import { type AddressRules, resolveDestination } from './check-address.ts';

interface Webhook {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

export interface SendRules extends AddressRules {
  /** From the start of the connection to the headers of the answer. */
  timeoutMs: number;
  /** Ends the request. */
  signal?: AbortSignal;
}

/** Prefix of signing secrets, as the Standard Webhooks specification has it; base64 follows. */
export const SIGNING_SECRET_PREFIX = 'whsec_';

/**
 * Headers of the Standard Webhooks specification. The signature covers id, time and body, so that none can be replaced
 * and a receiver can refuse old ones.
 *
 * @param secret `whsec_` and base64
 * @param timestampSeconds since 1970, of this attempt
 */
export function signWebhook(secret: string, id: string, timestampSeconds: number, body: string) {
  const key = Buffer.from(secret.slice(SIGNING_SECRET_PREFIX.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': `v1,${signature}`,
  };
}

/**
 * Posts JSON to a URL: only to addresses that were checked, without redirects. The answer's body is not read. Rejects
 * with AlertDeliveryError unless the answer is 2xx, and with AddressError.
 */
export async function sendWebhook({ url: text, headers, body }: Webhook, rules: SendRules): Promise<void> {
  const url = new URL(text);
  const timeout = AbortSignal.timeout(rules.timeoutMs);
  const signal = rules.signal === undefined ? timeout : AbortSignal.any([timeout, rules.signal]);
  const addresses = await resolveDestination(url, rules);
  // The connection goes to these addresses, whatever the name resolves to by then.
  const lookup: LookupFunction = (_host, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family ?? 4);
  };
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const length = Buffer.byteLength(body);
  const fields = { 'content-type': 'application/json', 'content-length': length, 'user-agent': 'recount', ...headers };
  const request = send(url, { method: 'POST', headers: fields, lookup, signal, agent: false });
  const answer = await readAnswer(request, body, signal);
  // Nothing of it is wanted, and it may be endless.
  answer.destroy();
  const { statusCode = 0 } = answer;
  if (statusCode >= 200 && statusCode < 300) return;
  throw new AlertDeliveryError(`The receiver answered ${statusCode}`, {
    isFinal: statusCode === 410,
    retryAfterSeconds: toSeconds(answer.headers['retry-after']),
  });
}

function readAnswer(request: ClientRequest, body: string, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.on('response', (answer) => {
    // A connection that breaks later says nothing about the answer.
    answer.on('error', () => undefined);
    resolve(answer);
  });
  request.on('upgrade', (_answer, socket) => {
    socket.destroy();
    reject(new AlertDeliveryError('The receiver answered 101'));
  });
  request.on('error', (error: NodeJS.ErrnoException) => {
    const reason = signal.aborted ? 'The receiver did not answer in time' : `The connection failed: ${toCode(error)}`;
    reject(new AlertDeliveryError(reason));
  });
  request.end(body);
  return promise;
}

/** The message of an error may contain the URL. */
const toCode = ({ code }: NodeJS.ErrnoException): string =>
  typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : 'unknown';

const toSeconds = (value: string | undefined): number | undefined =>
  value !== undefined && /^\d{1,6}$/.test(value) ? Number(value) : undefined;
