import { PROBLEMS } from '@recount/contract';
import { ReceiveError } from '@recount/ingest';
import { RawStoreError } from '@recount/storage';
import { describe, expect, it } from 'vitest';
import { ProblemError } from './problem-error.ts';
import { toProblemError } from './to-problem-error.ts';

const withCode = (message: string, code: string): Error => Object.assign(new Error(message), { code });
const failedQuery = (cause: Error): Error => new Error('Failed query: select … params: secret text', { cause });

describe('toProblemError', () => {
  it('returns a problem unchanged', () => {
    const problem = new ProblemError('not-found', 'There is none');
    expect(toProblemError(problem)).toBe(problem);
  });

  it.each([
    ['too-large', 'transcript-too-large'],
    ['unidentified', 'unidentified-transcript'],
    ['unsupported-format', 'unsupported-format'],
    ['invalid-session-id', 'invalid-session-id'],
  ] as const)('names what cannot be received: %s', (code, slug) => {
    expect(toProblemError(new ReceiveError(code, 'why'))).toMatchObject({ slug, message: 'why' });
  });

  it.each(['unavailable', 'denied', 'store-missing'] as const)(
    'asks the client to retry for a store error, %s',
    (code) => {
      expect(toProblemError(new RawStoreError(code, 'at /srv/secret'))).toMatchObject({
        slug: 'store-unavailable',
        headers: { 'retry-after': '5' },
        message: expect.not.stringContaining('secret'),
      });
    },
  );

  it.each([
    'connection to the remote node recount@10.0.0.2:5432 failed with …',
    'The node 10.0.0.2:5432 of the cluster does not answer (…). Start it, and retry',
  ])('names the node of a cluster that does not answer: %s', (text) => {
    const lost = withCode(text, '08006');
    expect(toProblemError(failedQuery(lost))).toMatchObject({
      slug: 'database-unavailable',
      message: 'The node 10.0.0.2:5432 of the database’s cluster does not answer; try again when it has started',
    });
  });

  it('says that someone has to give the server access to its store', () => {
    const { message } = toProblemError(new RawStoreError('denied', 'EACCES at /srv/secret'));
    expect(message).toContain('Its operator must give it access');
    expect(toProblemError(new RawStoreError('unavailable', 'away')).message).not.toContain('access');
  });

  it.each([
    [new RawStoreError('out-of-space', 'ENOSPC at /srv/secret'), 'store-full', 507],
    [failedQuery(withCode('could not extend file "secret"', '53100')), 'database-full', 503],
  ] as const)('says which disk is full: %s', (error, slug, statusCode) => {
    expect(toProblemError(error)).toMatchObject({
      slug,
      statusCode,
      headers: { 'retry-after': '30' },
      message: expect.not.stringContaining('secret'),
    });
  });

  it.each([
    withCode('connect ECONNREFUSED 10.0.0.1:5432', 'ECONNREFUSED'),
    failedQuery(withCode('terminating connection', '57P01')),
    failedQuery(withCode('too many clients', '53300')),
    failedQuery(withCode('out of memory', '53200')),
    failedQuery(withCode('could not read block', '58030')),
    failedQuery(withCode('cannot execute INSERT in a read-only transaction', '25006')),
    failedQuery(new Error('Connection terminated unexpectedly')),
    new Error('timeout exceeded when trying to connect'),
    failedQuery(new Error('Connection terminated due to connection timeout')),
  ])('asks the client to retry: %s', (error) => {
    expect(toProblemError(error)).toMatchObject({
      slug: 'database-unavailable',
      headers: { 'retry-after': '5' },
      message: 'The API cannot reach the database',
    });
  });

  it.each([
    new TypeError('secret is undefined'),
    failedQuery(withCode('invalid input syntax for type json: secret', '22P02')),
    new RawStoreError('invalid-key', 'No key of an object: secret', { cause: withCode('ENOENT', 'ENOENT') }),
    withCode('secret', 'FST_ERR_RESPONSE_SERIALIZATION'),
    'secret',
    undefined,
  ])('discloses nothing of an unknown error: %s', (error) => {
    const problem = toProblemError(error);
    expect(problem.slug).toBe('internal-error');
    expect(problem.message).not.toContain('secret');
  });

  it.each([
    withCode('connect ECONNREFUSED', 'ECONNREFUSED'),
    ...(['unavailable', 'denied', 'store-missing', 'out-of-space', 'not-found'] as const).map(
      (code) => new RawStoreError(code, 'away'),
    ),
    failedQuery(withCode('could not extend file', '53100')),
    'unknown',
  ])('says nothing of its title again, and leaves it to clients to announce another attempt: %s', (error) => {
    const { slug, message } = toProblemError(error);
    expect(message).not.toContain(PROBLEMS[slug].title);
    expect(message).not.toMatch(/[`]|try again$/);
  });

  it('names no key of a lost raw object', () => {
    const problem = toProblemError(new RawStoreError('not-found', 'No raw object at secret'));
    expect(problem.slug).toBe('raw-object-lost');
    expect(problem.message).not.toContain('secret');
  });

  it('never quotes a request that the framework refuses', () => {
    const error = Object.assign(withCode("'/v1/secret%' is not a valid url", 'FST_ERR_BAD_URL'), { statusCode: 400 });
    expect(toProblemError(error)).toMatchObject({ slug: 'invalid-request', message: 'The request cannot be read' });
  });
});
