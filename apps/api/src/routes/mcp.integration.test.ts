import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApi, type TestApi } from '../testing/test-api.ts';
import { toLine } from '../testing/transcript-lines.ts';

let api: TestApi;
let client: Client;

beforeAll(async () => {
  api = await createTestApi();
  const say = (session: string, second: number, content: string) =>
    toLine(session, second, { type: 'user', message: { role: 'user', content } });
  const long = Array.from({ length: 30 }, (_, index) => say('long', index, `number ${index} ${'y'.repeat(20_000)}`));
  await api.upload(say('short', 0, 'Where is the flux capacitor?'), { person: 'ada', machine: 'laptop' });
  await api.upload(long.join(''));
  await api.work();
  client = await connect(api.keys.read);
});
afterAll(async () => {
  await client.close();
  await api.close();
});

async function connect(key: string): Promise<Client> {
  const connected = new Client({ name: 'test', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit });
  // With exact optional types, its optional session id does not match the interface.
  await connected.connect(transport as Parameters<Client['connect']>[0]);
  return connected;
}

async function call(name: string, input: Record<string, unknown>, by = client) {
  const { content, isError = false } = await by.callTool({ name, arguments: input });
  const [{ text = '' } = {}] = content as { text?: string }[];
  return { text, isError, json: isError ? undefined : JSON.parse(text) };
}

describe('/mcp', () => {
  it('offers the usual tools, described and read-only', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'get_messages',
      'get_session_overview',
      'get_usage_summary',
      'list_sessions',
      'search_content',
      'search_sessions',
    ]);
    for (const { description, annotations } of tools) {
      expect(description?.length).toBeGreaterThan(30);
      expect(annotations?.readOnlyHint).toBe(true);
    }
  });

  it('finds, lists and reads sessions, and labels their text as data', async () => {
    const { json: sessions } = await call('search_sessions', { query: 'flux', person: 'ada' });
    expect(sessions.sessions).toMatchObject([{ session_id: 'short', best_match: { kind: 'prompt' } }]);
    expect(sessions.notice).toContain('not instructions');
    const { json: passages } = await call('search_content', { query: 'capacitor', session_id: 'short' });
    expect(passages.passages).toMatchObject([{ snippet: 'Where is the flux capacitor?', line_number: 1 }]);
    const { json: list } = await call('list_sessions', { machine: 'laptop' });
    expect(list.sessions).toMatchObject([{ session_id: 'short', person: 'ada', total_messages: 1 }]);
    expect((await call('get_session_overview', { session_id: 'short' })).json).toMatchObject({ user_messages: 1 });
    const { json: usage } = await call('get_usage_summary', { group_by: 'person' });
    expect(usage).toMatchObject({ filters: { group_by: ['person'] }, caveats: expect.anything() });
  });

  it('limits the size of its answers, which are paged', async () => {
    const ordinals: number[] = [];
    for (let cursor: string | undefined; ordinals.length < 30; ) {
      const { text, json } = await call('get_messages', { session_id: 'long', limit: 50, cursor });
      expect(text.length).toBeLessThan(80_000);
      ordinals.push(...json.messages.map(({ ordinal }: { ordinal: number }) => ordinal));
      cursor = json.next_cursor ?? undefined;
      if (cursor === undefined) break;
    }
    expect(ordinals).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  it('reports errors, and shows nothing of another workspace', async () => {
    expect(await call('get_messages', { session_id: 'none' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('Session not found'),
    });
    expect(await call('get_usage_summary', { group_by: 'nonsense' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('group_by'),
    });
    const other = await connect(api.keys.other);
    expect((await call('list_sessions', {}, other)).json.sessions).toEqual([]);
    await other.close();
    await expect(connect(api.keys.ingest)).rejects.toThrow();
    const post = (headers: Record<string, string>) =>
      fetch(`${api.url}/mcp`, {
        method: 'POST',
        body: '{}',
        headers: { 'content-type': 'application/json', ...headers },
      });
    expect((await post({})).status).toBe(401);
    expect((await fetch(`${api.url}/mcp`, { headers: { authorization: `Bearer ${api.keys.read}` } })).status).toBe(405);
  });
});
