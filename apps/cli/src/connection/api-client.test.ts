import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { replyJson, startReplyServer } from '../testing/reply-server.ts';
import { createApiClient } from './api-client.ts';

const problem = { type: 'urn:recount:problem:x', title: 'A title', detail: 'a detail' };
const MEBIBYTE = 1024 * 1024;

async function* toBody(chunkCount: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < chunkCount; index += 1) yield Buffer.alloc(MEBIBYTE, index % 256);
}

describe('the API client', () => {
  it('authenticates with its key, and sends each value of a parameter', async () => {
    let authorization: string | undefined;
    const server = await startReplyServer((request, response) => {
      authorization = request.headers.authorization;
      replyJson(response, { a: 1 });
    });
    const client = createApiClient({ url: server.url, key: 'rk_secret' });
    const query = { status: ['queued', 'failed'], path: 'a b/ü', limit: 5, cursor: undefined };
    expect(await client.request('/v1/x', { query })).toEqual({ a: 1 });
    expect(server.requests).toEqual(['GET /v1/x?status=queued&status=failed&path=a+b%2F%C3%BC&limit=5']);
    expect(authorization).toBe('Bearer rk_secret');
  });

  it('sends a body unchanged', async () => {
    let received = Buffer.alloc(0);
    const server = await startReplyServer(async (request, response) => {
      received = await buffer(request);
      replyJson(response, {}, { status: 202 });
    });
    await createApiClient({ url: server.url, key: 'k' }).request('/', { method: 'POST', body: toBody(5) });
    expect(received.equals(await buffer(toBody(5)))).toBe(true);
  });

  it.each([
    [400, {}, 'rejected', undefined],
    [401, {}, 'denied', undefined],
    [403, {}, 'denied', undefined],
    [413, {}, 'rejected', undefined],
    [429, { 'retry-after': '3' }, 'unavailable', 3000],
    [429, {}, 'unavailable', undefined],
    [500, {}, 'unavailable', undefined],
    [503, { 'retry-after': 'soon' }, 'unavailable', undefined],
    [503, { 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT' }, 'unavailable', 0],
  ])('treats status %d with %j as %s', async (status, headers, code, retryAfterMs) => {
    const server = await startReplyServer((_request, response) => replyJson(response, problem, { status, headers }));
    const answer = createApiClient({ url: server.url, key: 'k' }).request('/');
    await expect(answer).rejects.toMatchObject({
      ...{ code, retryAfterMs, message: 'A title: a detail', isBusy: status === 429 },
    });
  });

  it('says how to get a missing scope', async () => {
    const missing = {
      ...problem,
      type: 'urn:recount:problem:missing-scope',
      detail: 'This needs a key with the scope read',
    };
    const server = await startReplyServer((_request, response) => replyJson(response, missing, { status: 403 }));
    await expect(createApiClient({ url: server.url, key: 'k' }).request('/')).rejects.toMatchObject({
      code: 'denied',
      message: expect.stringMatching(/RECOUNT_API_KEY.*--scopes read`.*\n.*keys approve CODE --scopes ingest,read`/),
    });
  });

  it('gives no advice about a scope that the answer does not name', async () => {
    const detail = 'Your key shows figures of everyone, but texts only of the sessions that are yours';
    const missing = { ...problem, type: 'urn:recount:problem:missing-scope', detail };
    const server = await startReplyServer((_request, response) => replyJson(response, missing, { status: 403 }));
    await expect(createApiClient({ url: server.url, key: 'k' }).request('/')).rejects.toMatchObject({
      message: `A title: ${detail}`,
    });
  });

  it('retries an upload that broke off', async () => {
    const type = 'urn:recount:problem:upload-aborted';
    const server = await startReplyServer((_request, response) =>
      replyJson(response, { ...problem, type }, { status: 400 }),
    );
    await expect(createApiClient({ url: server.url, key: 'k' }).request('/')).rejects.toMatchObject({
      code: 'unavailable',
    });
  });

  it('returns nothing for 404, unless the answer is not from the API', async () => {
    const api = await startReplyServer((_request, response) => replyJson(response, problem, { status: 404 }));
    expect(await createApiClient({ url: api.url, key: 'k' }).request('/')).toBeUndefined();
    const other = await startReplyServer((_request, response) => response.writeHead(404).end('<h1>Not found</h1>'));
    await expect(createApiClient({ url: other.url, key: 'k' }).request('/')).rejects.toMatchObject({ code: 'denied' });
    const page = await startReplyServer((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Log in</h1>'),
    );
    await expect(createApiClient({ url: page.url, key: 'k' }).request('/')).rejects.toMatchObject({ code: 'denied' });
  });

  it('stops sending a body that was refused', async () => {
    const server = await startReplyServer((request, response) => {
      request.once('data', () => replyJson(response, problem, { status: 413 }));
    });
    let sentCount = 0;
    async function* endless() {
      for (;;) {
        sentCount += 1;
        yield Buffer.alloc(MEBIBYTE);
      }
    }
    const answer = createApiClient({ url: server.url, key: 'k' }).request('/', { method: 'POST', body: endless() });
    await expect(answer).rejects.toMatchObject({ code: 'rejected' });
    const sentThen = sentCount;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(sentCount).toBe(sentThen);
  });

  it('does not send faster than the server reads', async () => {
    let sentCount = 0;
    const server = await startReplyServer((request, response) => {
      request.pause();
      setTimeout(() => {
        expect(sentCount).toBeLessThan(20);
        request.resume().on('end', () => replyJson(response, {}));
      }, 100);
    });
    async function* counted() {
      for await (const chunk of toBody(60)) {
        sentCount += 1;
        yield chunk;
      }
    }
    await createApiClient({ url: server.url, key: 'k' }).request('/', { method: 'POST', body: counted() });
    expect(sentCount).toBe(60);
  });

  it('gives the reason if there is no answer', async () => {
    const { url } = await startReplyServer((_request, response) => response.destroy());
    await expect(createApiClient({ url, key: 'k' }).request('/')).rejects.toMatchObject({
      code: 'unavailable',
      message: `Cannot reach ${url} (ECONNRESET)`,
    });
    const nowhere = createApiClient({ url: 'http://127.0.0.1:1', key: 'k' });
    await expect(nowhere.request('/')).rejects.toThrow('(ECONNREFUSED)');
  });

  it('aborts immediately on request', async () => {
    const { url } = await startReplyServer(() => undefined);
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('enough')), 20);
    const body = toBody(1_000_000);
    const answer = createApiClient({ url, key: 'k' }).request('/', { method: 'POST', body, signal: controller.signal });
    await expect(answer).rejects.toThrow('enough');
  });

  it('does not treat an unreadable body as a shorter one', async () => {
    const { url } = await startReplyServer((request, response) => {
      request.resume().on('end', () => replyJson(response, {}));
    });
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a');
      throw new Error('the archive is damaged');
    }
    const answer = createApiClient({ url, key: 'k' }).request('/', { method: 'POST', body: broken() });
    await expect(answer).rejects.toMatchObject({ code: 'unavailable' });
  });
});
