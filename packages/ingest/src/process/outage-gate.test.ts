import { RawStoreError } from '@recount/storage';
import { expect, it } from 'vitest';
import { toOutage } from './outage-gate.ts';

const withCode = (code: string): Error => Object.assign(new Error('why'), { code });
const failedQuery = (cause: Error): Error => new Error('Failed query', { cause });

it.each([
  new RawStoreError('unavailable', 'S3: HTTP 503'),
  new RawStoreError('denied', 'S3: ExpiredToken'),
  new Error('reading', { cause: new RawStoreError('unavailable', 'S3: HTTP 503') }),
  withCode('ECONNREFUSED'),
  failedQuery(withCode('ECONNRESET')),
  failedQuery(withCode('08006')),
  failedQuery(withCode('57P01')),
  failedQuery(withCode('57P03')),
  failedQuery(withCode('57P05')),
  failedQuery(withCode('53300')),
  failedQuery(new Error('Connection terminated unexpectedly')),
  new Error('timeout exceeded when trying to connect'),
])('%j is an outage', (error) => {
  expect(toOutage(error)).toBe('away');
});

it.each([
  new RawStoreError('not-found', 'No raw object'),
  new RawStoreError('not-found', 'No raw object', { cause: withCode('ECONNRESET') }),
  failedQuery(withCode('23505')),
  failedQuery(withCode('40P01')),
  failedQuery(withCode('57014')),
  new Error('any other'),
  'not an error',
])('%j is not an outage', (error) => {
  expect(toOutage(error)).toBeUndefined();
});

it.each(['53000', '53100', '53200', '53400', '58030', '25006'])('%s means that the database cannot work', (code) => {
  expect(toOutage(failedQuery(withCode(code)))).toBe('database-exhausted');
});

it('tells a full store from an unavailable one', () => {
  expect(toOutage(new RawStoreError('out-of-space', 'Raw store folder: ENOSPC'))).toBe('store-full');
});
