import type pg from 'pg';
import { describe, expect, it, vi } from 'vitest';
import { adaptToCitus, restoreCode } from './planner.ts';

describe('restoreCode', () => {
  it.each([
    ['could not extend file "base/5/16384": No space left on device', '53100'],
    ['could not write to file "pg_wal/xlogtemp.7": No space left on device', '53100'],
    ['out of memory', '53200'],
    ['cannot execute COPY FROM in a read-only transaction', '25006'],
    ['terminating connection due to administrator command', '57P01'],
    ['the database system is shutting down', '57P01'],
    ['server closed the connection unexpectedly', '08006'],
    ['duplicate key value violates unique constraint "sessions_pk_102008"', 'XX000'],
  ])('recognises %s', (message, code) => {
    expect(restoreCode({ code: 'XX000', message }).code).toBe(code);
  });

  it('keeps a code that is present', () => {
    expect(restoreCode({ code: 'P0001', message: 'out of memory' }).code).toBe('P0001');
  });
});

describe('adaptToCitus', () => {
  const adapt = () => {
    const send = vi.fn(async (query: unknown) => query);
    const client = { query: send } as unknown as pg.ClientBase;
    adaptToCitus(client);
    return { client: client as unknown as { query(...query: unknown[]): unknown }, send };
  };

  it('shows the hidden workspace', async () => {
    const { client, send } = adapt();
    await client.query({ text: 'SELECT FROM t WHERE workspace_id = (SELECT $1::text)' }, ['w']);
    expect(send).toHaveBeenCalledWith({ text: 'SELECT FROM t WHERE workspace_id = $1::text' }, ['w']);
  });

  it('restores the codes that errors of a COPY have lost', () => {
    const { client, send } = adapt();
    const handleError = vi.fn();
    const copy = { text: 'COPY t FROM STDIN', submit: () => undefined, handleError };
    client.query(copy);
    expect(send).toHaveBeenCalledWith(copy);
    copy.handleError({ code: 'XX000', message: 'out of memory' });
    expect(handleError).toHaveBeenCalledWith({ code: '53200', message: 'out of memory' });
  });
});
