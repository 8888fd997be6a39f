import { setTimeout as sleep } from 'node:timers/promises';
import { DeliveryError } from '@recount/collect/delivery-error';
import type { DeviceCode, DeviceRefusal, DeviceToken } from '@recount/contract';
import { type HttpAnswer, sendRequest } from '../connection/send-request.ts';
import { type CliContext, note } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';
/** RFC 8628, section 3.5: added to the polling interval after each `slow_down`. */
const SLOW_DOWN_S = 5;

/** Shows a code and waits until an admin has approved it; returns the key from the server. */
export async function fetchKeyByCode(context: CliContext, url: string, machine: string): Promise<string> {
  const signal = context.listenForInterruption();
  const asked = await post(`${url}/v1/device/code`, { client_id: 'recount', scope: 'ingest', machine }, signal);
  if (asked.status === 404) {
    throw new CliError(`${url} does not support device login. Set RECOUNT_API_KEY or pass --key-file.`);
  }
  if (asked.status !== 200) throw new CliError(`${url} gives no code: ${toReason(asked)}`);
  const { device_code, user_code, verification_uri, expires_in, interval } = JSON.parse(asked.text) as DeviceCode;
  note(context, `Have an admin of ${url} let this machine in, within ${Math.round(expires_in / 60)} minutes:`);
  note(context, `  recount keys approve ${user_code}`);
  note(context, `there, or with the code ${user_code} at ${verification_uri}. Waiting …`);
  const endMs = performance.now() + expires_in * 1000;
  for (let intervalS = interval; performance.now() < endMs; ) {
    await sleep(intervalS * 1000, undefined, { signal }).catch(() => signal.throwIfAborted());
    const answer = await post(`${url}/v1/device/token`, { grant_type: GRANT_TYPE, device_code }, signal).catch(
      ignoreOutage,
    );
    if (answer?.status === 200) return (JSON.parse(answer.text) as DeviceToken).access_token;
    const refusal = answer?.status === 400 ? (JSON.parse(answer.text) as Partial<DeviceRefusal>).error : undefined;
    if (refusal === 'slow_down') intervalS += SLOW_DOWN_S;
    if (refusal === 'expired_token') break;
    if (refusal === 'access_denied') throw new CliError('The key that approved the code was revoked. Try again.');
  }
  throw new CliError(`The code ${user_code} was not approved. Run the command again for a new one.`);
}

/** The network may be unavailable for a moment. */
function ignoreOutage(error: unknown): undefined {
  if (!(error instanceof DeliveryError)) throw error;
}

async function post(url: string, fields: Record<string, string>, signal: AbortSignal): Promise<HttpAnswer> {
  const body = Buffer.from(new URLSearchParams(fields).toString());
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(body.length) };
  return await sendRequest(new URL(url), { method: 'POST', headers, body: toBody(body), signal });
}

async function* toBody(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function toReason({ status, text }: HttpAnswer): string {
  try {
    return (JSON.parse(text) as { detail?: string }).detail ?? `it answers ${status}`;
  } catch {
    return `it answers ${status}`;
  }
}
