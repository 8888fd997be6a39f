import type pg from 'pg';
import { describe, expect, it, vi } from 'vitest';
import { isConnectionLost, isDatabaseUnavailable } from './database-unavailable.ts';
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
    ['failure on connection marked as essential: 127.0.0.1:20412', '08006'],
    ['duplicate key value violates unique constraint "sessions_pk_102008"', 'XX000'],
  ])('recognises %s', (message, code) => {
    expect(restoreCode({ code: 'XX000', message }).code).toBe(code);
  });

  it.each([
    ['XX000', 'could not find valid entry for shard 102028'],
    ['0A000', 'found no worker with all shard placements'],
    ['0A000', 'router planner does not support queries that reference non-colocated distributed tables'],
    ['42P01', 'relation "recount.sessions_102028" does not exist'],
  ])('lets a statement be tried again whose shard moved: %s, %s', (code, message) => {
    const error = restoreCode(Object.assign(new Error(message), { code }));
    expect(error.code).toBe('40001');
    expect(isDatabaseUnavailable(error)).toBe(true);
    // The statement may be at fault, so an attempt counts.
    expect(isConnectionLost(error)).toBe(false);
  });

  it.each([
    ['0A000', 'could not create distributed plan'],
    ['42P01', 'relation "recount.sessions" does not exist'],
    ['XX000', 'cache lookup failed for relation 102028'],
  ])('keeps %s of a faulty statement: %s', (code, message) => {
    expect(restoreCode({ code, message }).code).toBe(code);
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

  it('restores the codes that errors of statements have lost', async () => {
    const { client, send } = adapt();
    send.mockRejectedValue({ code: 'XX000', message: 'failure on connection marked as essential: 127.0.0.1:20412' });
    await expect(client.query({ text: 'INSERT' })).rejects.toMatchObject({ code: '08006' });
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
