import { expect, it } from 'vitest';
import { CliError, toExit, UsageError } from './cli-error.ts';
import { InterruptedError } from './interruption.ts';

const interruption = new InterruptedError();

it.each([
  ['an interruption', interruption],
  ['a wait that was aborted', Object.assign(new Error('aborted', { cause: interruption }), { name: 'AbortError' })],
])('%s ends with 130', async (_what, error) => {
  expect(await toExit(error, {})).toEqual({ exitCode: 130, message: 'interrupted' });
});

it.each([
  ['an impossible operation', new CliError('why'), 1],
  ['a wrong call', new UsageError('why'), 2],
  ['an abort for another reason', Object.assign(new Error('why'), { name: 'AbortError' }), 1],
  ['an error that an interruption caused, but that is not an abort', new CliError('why', { cause: interruption }), 1],
])('%s does not', async (_what, error, exitCode) => {
  expect(await toExit(error, {})).toMatchObject({ exitCode, message: expect.stringContaining('why') });
});

it.each([
  'connection to the remote node recount@10.0.0.2:5432 failed with the following error: Connection refused',
  'failure on connection marked as essential: 10.0.0.2:5432',
])('names the node of a cluster that is down: %s', async (message) => {
  expect((await toExit(new Error('query', { cause: new Error(message) }), {})).message).toContain('10.0.0.2:5432 ');
});
