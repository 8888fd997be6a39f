import { verifyUsage } from '@recount/db';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestInstallation, TEST_WORKSPACE, type TestInstallation } from '../testing/test-installation.ts';

const LINE_BYTES = 300 * 1000 * 1000;
const MAX_HELD_BYTES = 200 * 1000 * 1000;

let installation: TestInstallation;
beforeAll(async () => {
  installation = await createTestInstallation();
});
afterAll(() => installation.close());

const readHeldBytes = (): number => {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

it('counts the usage of a line of 300 MB in the ledger, without buffering the line', async () => {
  const before = readHeldBytes();
  let mostHeldBytes = 0;
  const measure = (): void => {
    mostHeldBytes = Math.max(mostHeldBytes, readHeldBytes() - before);
  };
  const at = { timestamp: '2026-05-12T08:00:00.000Z' };
  const usage = { input_tokens: 10, cached_input_tokens: 4, output_tokens: 7, reasoning_output_tokens: 2 };
  const toJsonLine = (type: string, payload: object): string => `${JSON.stringify({ ...at, type, payload })}\n`;
  const record = { response_id: 'resp_00000000000000000001', turn_id: 'turn-1', usage };
  const compacted = toJsonLine('compacted', { message: '<text>', latest_token_usage_record: record });
  const [beginning = '', end = ''] = compacted.split('<text>');
  async function* toBody(): AsyncGenerator<Buffer> {
    yield Buffer.from(toJsonLine('session_meta', { ...at, id: 'long', cwd: '/app', cli_version: '0.153.0' }));
    yield Buffer.from(toJsonLine('turn_context', { turn_id: 'turn-1', model: 'gpt-5' }) + beginning);
    const chunk = Buffer.alloc(1_000_000, 'x');
    for (let bytes = 0; bytes < LINE_BYTES; bytes += chunk.length) {
      measure();
      yield chunk;
    }
    yield Buffer.from(end);
  }
  await installation.receive('', { body: toBody(), sessionId: 'long' });
  const timer = setInterval(measure, 10);
  await installation.work();
  clearInterval(timer);
  const { rows } = await installation.database.pool.query(
    `SELECT response_key, tokens_in::int, cache_read::int, tokens_out::int, model FROM recount.usage_ledger WHERE session_id = 'long'`,
  );
  expect(rows).toMatchObject([{ tokens_in: 6, cache_read: 4, tokens_out: 7, model: 'gpt-5' }]);
  const { rows: transcripts } = await installation.database.pool.query(
    `SELECT status, size_bytes::float8 FROM recount.transcripts WHERE session_id = 'long'`,
  );
  expect(transcripts).toMatchObject([{ status: 'ingested' }]);
  expect(transcripts[0].size_bytes).toBeGreaterThan(LINE_BYTES);
  for (const check of await installation.database.withSnapshot((snapshot) => verifyUsage(snapshot, TEST_WORKSPACE))) {
    expect(check).toMatchObject({ missing: 0, surplus: 0 });
  }
  expect(mostHeldBytes).toBeLessThan(MAX_HELD_BYTES);
});
