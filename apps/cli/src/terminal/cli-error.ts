import type { Environment } from '@recount/service/config';
import { CommanderError } from 'commander';
import { INTERRUPTED_EXIT_CODE, InterruptedError } from './interruption.ts';

/** The command cannot fulfil the request; the message says why and what to do. */
export class CliError extends Error {
  override name = 'CliError';
}

/** The command's arguments make no sense. */
export class UsageError extends Error {
  override name = 'UsageError';
}

const USAGE_ERRORS = new Set(['UsageError', 'ConfigError', 'UnresolvedNameError']);
/** Errors whose messages are written for users. */
const CLEAR_ERRORS = new Set([
  'CliError',
  'DeliveryError',
  'DatabaseEncodingError',
  'DistributionError',
  'LocalPostgresError',
  'ProcessLockError',
  'RawStoreError',
  'SchemaVersionError',
  'SourceError',
]);
const CONNECTION_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
]);
/** SQLSTATE classes of a rejected login and an unknown database. Their messages name only those. */
const LOGIN_ERROR_CLASSES = new Set(['28', '3D']);

/** The end of the process by an error; an empty message has been shown already. */
export async function toExit(error: unknown, environment: Environment): Promise<{ exitCode: number; message: string }> {
  if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? 0 : 2, message: '' };
  const { name = '', stack } = error instanceof Error ? error : {};
  if (isInterruption(error)) return { exitCode: INTERRUPTED_EXIT_CODE, message: 'interrupted' };
  const message = environment.RECOUNT_DEBUG === '1' && stack !== undefined ? stack : await toMessage(error);
  return { exitCode: USAGE_ERRORS.has(name) ? 2 : 1, message };
}

/** An operation that was waiting reports the interruption as the cause of its error. */
function isInterruption(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error instanceof InterruptedError || (error.name === 'AbortError' && error.cause instanceof InterruptedError);
}

async function toMessage(error: unknown): Promise<string> {
  if (!(error instanceof Error)) return 'unknown error';
  if (USAGE_ERRORS.has(error.name) || CLEAR_ERRORS.has(error.name)) return error.message;
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { code, address, port } = toSystemError(cause);
    if (code === 'EADDRINUSE') return `Port ${port} is in use. Choose another one with RECOUNT_PORT.`;
    if (CONNECTION_ERRORS.has(code)) {
      const place = address === undefined ? '' : ` at ${address}:${port}`;
      return `Cannot connect${place} (${code}). Is the database of DATABASE_URL running?`;
    }
    if (LOGIN_ERROR_CLASSES.has(code.slice(0, 2)) && code.length === 5) return `Postgres: ${cause.message}`;
  }
  const [{ toFailureReason }, { findLostNode }] = await Promise.all([import('@recount/ingest'), import('@recount/db')]);
  const node = findLostNode(error);
  if (node !== undefined) return `The node ${node} of the database's cluster does not answer. Start it, and try again.`;
  return `${toFailureReason(error)}\nSet RECOUNT_DEBUG=1 for the stack trace.`;
}

/** A failed connection to a name with several addresses is an AggregateError with one error for each. */
function toSystemError(error: Error): { code: string; address?: string; port?: number } {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return { ...first, code: String(first?.code ?? '') };
}
