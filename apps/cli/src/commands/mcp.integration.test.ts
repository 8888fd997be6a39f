import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createTestApi } from '@recount/api/testing/test-api';
import { toTranscript } from '@recount/api/testing/transcript-lines';
import { expect, it, onTestFinished } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../bin/recount.mjs', import.meta.url));

it('answers an agent on stdin and stdout', async () => {
  const api = await createTestApi();
  onTestFinished(() => api.close());
  await api.upload(toTranscript('asked-for', 4));
  await api.work();
  const client = new Client({ name: 'test', version: '1' });
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: '/nowhere',
    RECOUNT_SERVER: api.url,
    RECOUNT_API_KEY: api.keys.read,
  };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [PROGRAM, 'mcp'], env }));
  expect((await client.listTools()).tools).toHaveLength(6);
  const { content } = await client.callTool({ name: 'list_sessions', arguments: {} });
  const [{ text = '' } = {}] = content as { text?: string }[];
  expect(JSON.parse(text).sessions).toMatchObject([{ session_id: 'asked-for', total_messages: 4 }]);
  await client.close();
});
