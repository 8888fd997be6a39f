import { expect, it } from 'vitest';
import { toFailureKind, toFailureReason } from './failure-reason.ts';

const SECRET = 'hunter2';
const toDatabaseError = (fields: object): Error =>
  Object.assign(new Error(`invalid value ${SECRET}`), { severity: 'ERROR', detail: `Key (x)=(${SECRET})`, ...fields });
const toQueryError = (cause?: unknown): Error => new Error(`Failed query: insert\nparams: ${SECRET}`, { cause });

it.each([
  [toDatabaseError({ code: '23505' }), 'Postgres error 23505'],
  [
    toDatabaseError({ code: '23505', table: 'usage_entries', column: 'model', constraint: 'pk' }),
    'Postgres error 23505: usage_entries, model, pk',
  ],
  [toQueryError(toDatabaseError({ code: '22P02', column: 'model' })), 'Postgres error 22P02: model'],
  [new Error(SECRET, { cause: toQueryError(toDatabaseError({ code: '22P02' })) }), 'Postgres error 22P02'],
  [toQueryError(), 'Error: query failed'],
  [toQueryError(SECRET), 'Error: query failed'],
  [SECRET, 'Unknown error'],
])('discloses nothing of the transcript: %#', (error, reason) => {
  expect(toFailureReason(error)).toBe(reason);
});

it.each(['08006', '40P01', '42P01', '53100', '55P03', '57P01'])('includes the server’s message for %s', (code) => {
  const error = Object.assign(new Error('of the server'), { severity: 'FATAL', code, table: 't' });
  expect(toFailureReason(error)).toBe(`Postgres error ${code}: of the server`);
});

it('treats an error with a severity and an SQLSTATE as one of the database', () => {
  const toError = (fields: object) => Object.assign(new Error('write EPIPE'), fields);
  expect(toFailureReason(toError({ code: 'EPIPE' }))).toBe('Error: write EPIPE');
  expect(toFailureReason(toError({ severity: 'ERROR', code: 'EPIPES' }))).toBe('Error: write EPIPE');
  expect(toFailureReason(toError({ severity: 'ERROR', code: '-EPIP' }))).toBe('Error: write EPIPE');
  expect(toFailureReason(toError({ severity: 'ERROR', code: 12345 }))).toBe('Error: write EPIPE');
});

it('names a program error, or the cause of a failed query', () => {
  expect(toFailureReason(new RangeError('too deep', { cause: new Error('why') }))).toBe('RangeError: too deep');
  expect(toFailureReason(toQueryError(new TypeError('no connection')))).toBe('TypeError: no connection');
});

it('is 500 characters long at most', () => {
  expect(toFailureReason(new Error('x'.repeat(600)))).toHaveLength(500);
  expect(toFailureReason(toDatabaseError({ code: '23505', table: 't'.repeat(600) }))).toHaveLength(500);
});

it.each([
  [toDatabaseError({ code: '23505' }), 'postgres-23505'],
  [toQueryError(toDatabaseError({ code: 'P0001' })), 'postgres-P0001'],
  [toQueryError(new TypeError('no connection')), 'TypeError'],
  [toQueryError(), 'Error'],
  [new RangeError(SECRET), 'RangeError'],
  [SECRET, 'unknown'],
])('counts a failure by its class: %#', (error, kind) => {
  expect(toFailureKind(error)).toBe(kind);
});
