import { Writable } from 'node:stream';
import type pg from 'pg';
import { expect, it } from 'vitest';
import { contentBlocks, ingestIssues, transcriptMessages } from '../schema/messages.ts';
import { sessionEvents, toolCalls, usageEntries } from '../schema/usage.ts';
import { createRowCopier } from './row-copier.ts';

const MIB = 1024 * 1024;
const TEXT_BYTES = 4096;
const TABLES = [transcriptMessages, contentBlocks, usageEntries, toolCalls, sessionEvents, ingestIssues];

/** A connection that takes what is copied a chunk at a time, and counts it. */
function createCountingClient() {
  const copies: { bytes: number; statements: number }[] = [];
  const query = (submitted: CopyQuery): void => {
    const copy = { bytes: 0, statements: 0 };
    copies.push(copy);
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        copy.bytes += chunk.length;
        setImmediate(done);
      },
      final: () => submitted.handleReadyForQuery(),
    });
    const connection = { stream, query: (text: string) => (copy.statements = text.split('; ').length) };
    submitted.submit(connection);
    for (let each = 0; each < copy.statements; each++) submitted.handleCopyInResponse(connection);
    stream.end();
  };
  return { client: { query } as unknown as pg.PoolClient, copies };
}

interface CopyQuery {
  submit(connection: object): void;
  handleCopyInResponse(connection: object): void;
  handleReadyForQuery(): void;
}

it('buffers 2 MiB of rows and the chunk being sent, however many tables there are', async () => {
  const { client, copies } = createCountingClient();
  const copier = createRowCopier(client);
  const adders = TABLES.map((table) => copier.openTable(table) as (row: object) => void);
  const text = 'x'.repeat(TEXT_BYTES);
  const sumTaken = (): number => copies.reduce((sum, { bytes }) => sum + bytes, 0);
  let [added, mostHeld] = [0, 0];
  for (let row = 0; row < 6000; row++) {
    adders[row % adders.length]?.({ workspace_id: text });
    added += TEXT_BYTES;
    await copier.sendFull();
    mostHeld = Math.max(mostHeld, added - sumTaken());
  }
  expect(mostHeld).toBeLessThan(4 * MIB);
  // Not in many small ones either.
  expect(copies.length).toBeLessThan((6 * added) / (2 * MIB));
  await copier.sendAll();
  expect(sumTaken()).toBeGreaterThan(added);
  // The rest of all tables goes together.
  expect(copies.at(-1)?.statements).toBeGreaterThan(1);
});
