import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { anthropic } from './anthropic.ts';
import { chat } from './chat.ts';
import type { Exchange, Fault, Outcome, Reply, Step, Wire } from './exchange.ts';
import { gemini } from './gemini.ts';
import { type Fields, toFields } from './json.ts';
import { responses } from './responses.ts';
import { createScript, type Steps, toTokens } from './script.ts';

/** Wires by the end of the path that asks for an answer. */
const WIRES: readonly (readonly [RegExp, Wire])[] = [
  [/\/messages$/, anthropic],
  [/\/responses$/, responses],
  [/\/chat\/completions$/, chat],
  [/:(?:generateContent|streamGenerateContent)$/, gemini],
];
const STATUS: Partial<Record<Fault, number>> = { 'rate-limit': 429, overloaded: 529 };
const OUTCOME: Record<Fault, Outcome> = {
  'rate-limit': 'refused',
  overloaded: 'refused',
  cut: 'cut',
  hang: 'hung',
};

export interface FakeApi {
  /** `http://127.0.0.1:<port>`, without a path. */
  readonly url: string;
  /** In the order of the requests. */
  readonly exchanges: readonly Exchange[];
  /** Requests for anything but an answer, such as lists of models, with method and path. */
  readonly otherRequests: readonly string[];
  /** Steps that no request has taken. */
  left(): string[];
  close(): Promise<void>;
}

export interface FakeApiOptions {
  steps: Steps;
  /** The log of requests and answers; undefined means none. */
  logFolder?: string | undefined;
  /** Models of `GET …/models`. */
  models?: readonly string[];
  onExchange?(exchange: Exchange): void;
}

/** Starts the API of all vendors on a free port of loopback. It answers by its script, and remembers what it answered. */
export async function startFakeApi({ steps, logFolder, models = [], onExchange }: FakeApiOptions): Promise<FakeApi> {
  const script = createScript(steps);
  const exchanges: Exchange[] = [];
  const otherRequests: string[] = [];
  const run = randomBytes(4).toString('hex');
  if (logFolder !== undefined) mkdirSync(logFolder, { recursive: true });

  async function answer(wire: Wire, request: IncomingMessage, url: URL, response: ServerResponse): Promise<void> {
    const body = toFields(await json(request));
    const asked = wire.readRequest(body, url);
    const { marker, step, isSummary } = script.next(asked);
    const number = exchanges.length + 1;
    const reply = toReply(wire, step, number, `${run}x${String(number).padStart(6, '0')}`, asked);
    const outcome = step.fault === undefined ? 'answered' : OUTCOME[step.fault];
    const { offeredTools } = asked;
    const exchange: Exchange = {
      ...reply,
      calls: [...reply.calls],
      number,
      wire: wire.name,
      outcome,
      isSummary,
      marker,
      offeredTools,
      serviceTier: reply.serviceTier,
      speed: reply.speed,
    };
    exchanges.push(exchange);
    if (logFolder !== undefined) {
      writeFileSync(join(logFolder, `request-${number}.json`), JSON.stringify(body, undefined, 1));
      appendFileSync(join(logFolder, 'answers.jsonl'), `${JSON.stringify({ ...exchange, offeredTools: undefined })}\n`);
    }
    send(wire, reply, step.fault, asked.isStream, response);
    onExchange?.(exchange);
  }

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const wire = WIRES.find(([path]) => path.test(url.pathname))?.[1];
    if (wire === undefined || request.method !== 'POST') {
      otherRequests.push(`${request.method} ${url.pathname}`);
      sendOther(url, models, response);
      return;
    }
    answer(wire, request, url, response).catch((error: unknown) => {
      otherRequests.push(`${request.method} ${url.pathname}: ${String(error)}`);
      response.destroy();
    });
  });
  server.keepAliveTimeout = 500;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    otherRequests,
    left: script.left,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function toReply(
  wire: Wire,
  step: Step,
  number: number,
  seed: string,
  asked: { model: string; serviceTier?: string | undefined; speed?: string | undefined },
): Reply {
  const id = wire.newId(seed);
  const features = { hasCacheWrites: wire === anthropic, hasReasoning: wire !== anthropic };
  return {
    responseId: id.responseId,
    model: asked.model,
    text: step.text ?? '',
    calls: (step.calls ?? []).map((call, index) => ({ ...call, id: id.callId(index) })),
    tokens: { ...toTokens(number, features), ...step.tokens },
    serviceTier: asked.serviceTier,
    speed: asked.speed,
  };
}

function send(wire: Wire, reply: Reply, fault: Fault | undefined, isStream: boolean, response: ServerResponse): void {
  const status = fault === undefined ? undefined : STATUS[fault];
  if (status !== undefined) {
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' });
    response.end(JSON.stringify(wire.toError(status, 'The lab refuses this request')));
    return;
  }
  const headers = { 'request-id': `req_${reply.responseId}` };
  if (!isStream) {
    if (fault !== undefined) {
      if (fault === 'cut') response.destroy();
      return;
    }
    response.writeHead(200, { ...headers, 'content-type': 'application/json' });
    response.end(JSON.stringify(wire.toBody(reply)));
    return;
  }
  const { head, tail } = wire.toEvents(reply);
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
  // A cut must come after the beginning has been sent.
  response.write(head.join(''), () => {
    if (fault === 'cut') response.destroy();
    else if (fault === undefined) response.end(tail.join(''));
  });
}

/** Lists of models, counts of tokens, and whatever else programs ask before they begin. */
function sendOther(url: URL, models: readonly string[], response: ServerResponse): void {
  const body = toOtherBody(url.pathname, models);
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body ?? { error: { message: 'The lab has no such path' } }));
}

function toOtherBody(path: string, models: readonly string[]): Fields | undefined {
  if (path === '/') return {};
  if (/\/models$/.test(path)) return { object: 'list', data: models.map((id) => ({ id, object: 'model' })) };
  if (/\/count_tokens$/.test(path)) return { input_tokens: 1_000 };
  if (/:countTokens$/.test(path)) return { totalTokens: 1_000 };
  return undefined;
}
