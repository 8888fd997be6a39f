import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiProcess } from './api-process.ts';

/** `get_messages` cuts texts to 50,000 characters, of up to six bytes as JSON in JSON; the rest is ids and names. */
const MAX_ANSWER_BYTES = 2 * 1024 * 1024;
const PAGES = 20;
const CALLS_AT_ONCE = 8;

interface ToolAnswer {
  bytes: number;
  text: string;
}

/** Routes for the dashboard, printable documents and exports. */
const toRoutes = (session: string): string[] => [
  ...['messages?limit=500', 'outline?contains=a', 'document?format=html', 'changes'].map(
    (route) => `sessions/${session}/${route}`,
  ),
  ...['ndjson', 'parquet'].map((format) => `export/messages?format=${format}`),
];

/**
 * Reads a session by MCP and HTTP, by every tool and route that answers with its texts, the largest ones many times
 * concurrently. Returns what is not as it should be.
 */
export async function readSession(api: ApiProcess, session: string): Promise<string[]> {
  const violations: string[] = [];
  const ask = async (tool: string, input: object): Promise<ToolAnswer> => {
    const answer = await callTool(api, tool, input);
    if (answer.bytes > MAX_ANSWER_BYTES) violations.push(`${tool} answers ${answer.bytes} bytes`);
    return answer;
  };
  await ask('list_sessions', { limit: 50 });
  await ask('search_sessions', { query: 'a*' });
  await ask('search_content', { query: 'a*', limit: 50 });
  await ask('get_usage_summary', { group_by: 'day,model,project' });
  await ask('get_session_overview', { session_id: session });
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const { text } = await ask('get_messages', { session_id: session, limit: 50, cursor });
    cursor = (JSON.parse(text) as { next_cursor?: string | null }).next_cursor ?? undefined;
    if (cursor === undefined) break;
  }
  const many = Array.from({ length: CALLS_AT_ONCE }, () => ask('get_messages', { session_id: session, limit: 50 }));
  await Promise.all(many);
  for (const route of toRoutes(session))
    await Promise.all(Array.from({ length: CALLS_AT_ONCE }, () => readRoute(api, route)));
  return violations;
}

/** Retries if it is told to. Throws unless it is answered with 200, to the end. */
async function readRoute(api: ApiProcess, path: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${api.url}/v1/${path}`, { headers: { authorization: `Bearer ${api.key}` } });
    const retryAfterS = Number(response.headers.get('retry-after'));
    if (response.status === 429 && retryAfterS > 0) {
      await response.body?.cancel();
      await sleep(1000 * retryAfterS);
      continue;
    }
    if (response.status !== 200) throw new Error(`${path} is answered ${response.status}: ${await response.text()}`);
    if (response.body !== null) for await (const _ of response.body);
    return;
  }
}

async function callTool(api: ApiProcess, name: string, input: object): Promise<ToolAnswer> {
  const response = await fetch(`${api.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${api.key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
  });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${name} is answered ${response.status}: ${body.slice(0, 200)}`);
  const { result } = JSON.parse(body) as { result: { isError?: boolean; content: { text: string }[] } };
  const text = result.content[0]?.text ?? '';
  if (result.isError) throw new Error(`${name} fails: ${text.slice(0, 200)}`);
  return { bytes: body.length, text };
}
