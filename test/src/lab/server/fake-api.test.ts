import { afterEach, describe, expect, it } from 'vitest';
import type { Step } from './exchange.ts';
import { type FakeApi, startFakeApi } from './fake-api.ts';

const PROMPT = 'Please do what LAB-test-1 says.';
const CALL = { name: 'shell', input: { command: 'ls' } };
let api: FakeApi;
afterEach(() => api.close());

const start = async (...steps: Step[]) => {
  api = await startFakeApi({ steps: { 'LAB-test-1': steps } });
};
const post = (path: string, body: unknown) => fetch(api.url + path, { method: 'POST', body: JSON.stringify(body) });

const REQUESTS = {
  anthropic: {
    path: '/v1/messages',
    body: { model: 'm', tools: [{ name: 'shell' }], messages: [{ role: 'user', content: PROMPT }] },
  },
  responses: {
    path: '/v1/responses',
    body: {
      model: 'm',
      tools: [{ type: 'function', name: 'shell' }],
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: PROMPT }] }],
    },
  },
  chat: {
    path: '/v1/chat/completions',
    body: {
      model: 'm',
      tools: [{ type: 'function', function: { name: 'shell' } }],
      messages: [{ role: 'user', content: [{ type: 'text', text: PROMPT }] }],
    },
  },
  gemini: {
    path: '/v1beta/models/m:generateContent',
    body: {
      tools: [{ functionDeclarations: [{ name: 'shell' }] }],
      contents: [{ role: 'user', parts: [{ text: PROMPT }] }],
    },
  },
} as const;
const WIRES = Object.keys(REQUESTS) as (keyof typeof REQUESTS)[];
const toStreamPath = (path: string) => path.replace(':generateContent', ':streamGenerateContent');

describe.each(WIRES)('the %s API', (wire) => {
  const { path, body } = REQUESTS[wire];

  it('answers the step of the marker, and remembers what it answered', async () => {
    await start({ text: 'Hello.', calls: [CALL] });
    const answer = await (await post(path, body)).text();
    expect(answer).toContain('Hello.');
    const { tokens, calls, ...exchange } = api.exchanges[0] ?? expect.unreachable();
    expect(exchange).toMatchObject({ number: 1, wire, outcome: 'answered', marker: 'LAB-test-1', model: 'm' });
    expect(exchange).toMatchObject({ text: 'Hello.', offeredTools: ['shell'] });
    expect(calls).toMatchObject([CALL]);
    expect(answer).toContain(String(wire === 'gemini' ? tokens.output - tokens.reasoning : tokens.output));
    expect(answer).toContain(calls[0]?.id);
    expect(api.left()).toEqual([]);
  });

  it('streams the same answer as events where the last has the usage', async () => {
    await start({ text: 'Hello.', calls: [CALL] });
    const response = await post(toStreamPath(path), { ...body, stream: true });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events = (await response.text())
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => line.slice('data: '.length));
    const { tokens, calls } = api.exchanges[0] ?? expect.unreachable();
    for (const event of events) JSON.parse(event);
    expect(events.join('')).toContain(calls[0]?.id);
    const output = wire === 'gemini' ? tokens.output - tokens.reasoning : tokens.output;
    expect(events.slice(-2).join('')).toContain(String(output));
  });

  it('refuses, and then answers the same request', async () => {
    await start({ fault: 'rate-limit' }, { fault: 'overloaded' }, { text: 'At last.' });
    const statuses = [];
    for (let attempt = 0; attempt < 3; attempt++) statuses.push((await post(path, body)).status);
    expect(statuses).toEqual([429, 529, 200]);
    expect(api.exchanges.map(({ outcome }) => outcome)).toEqual(['refused', 'refused', 'answered']);
  });

  it('breaks off in the middle of a text', async () => {
    await start({ text: 'This never ends', fault: 'cut' });
    const response = await post(toStreamPath(path), { ...body, stream: true });
    await expect(response.text()).rejects.toThrow();
    expect(api.exchanges[0]?.outcome).toBe('cut');
  });
});

it('an answer that hangs begins and never ends', async () => {
  await start({ text: 'This hangs', fault: 'hang' });
  const { body } = await post('/v1/messages', { ...REQUESTS.anthropic.body, stream: true });
  if (body === null) expect.unreachable();
  const { value } = await body.getReader().read();
  expect(Buffer.from(value ?? []).toString()).toContain('This hangs');
  expect(api.exchanges[0]?.outcome).toBe('hung');
});

it('no two answers have a count in common', async () => {
  await start({ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' });
  for (let request = 0; request < 3; request++) await post('/v1/messages', REQUESTS.anthropic.body);
  const counts = api.exchanges.flatMap(({ tokens: { reasoning: _, ...tokens } }) => Object.values(tokens));
  expect(new Set(counts).size).toBe(counts.length);
});

it('lists models, counts tokens, and knows no other path', async () => {
  await start();
  expect((await fetch(`${api.url}/v1/models`)).status).toBe(200);
  expect((await post('/v1/messages/count_tokens', {})).status).toBe(200);
  expect((await post('/v1/telemetry', {})).status).toBe(404);
  expect(api.otherRequests).toEqual(['GET /v1/models', 'POST /v1/messages/count_tokens', 'POST /v1/telemetry']);
  expect(api.exchanges).toEqual([]);
});
