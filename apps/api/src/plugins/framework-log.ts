import type { FastifyBaseLogger } from 'fastify';
import type { Logger } from 'pino';
import { toLogReason } from '../problems/log-reason.ts';

/** What log lines of a request may tell. Anything else is left out: plugins log headers, with the key, and file names. */
const FIELDS: ReadonlySet<string> = new Set([
  'err',
  'method',
  'route',
  'status',
  'durationMs',
  'workspaceId',
  'keyId',
  'transcriptId',
  'sizeBytes',
  'isDuplicate',
  'problem',
  'reason',
]);

/** A log for the framework, its plugins and the routes; of errors it tells no message that may quote the request. */
export function createFrameworkLog(log: Logger): FastifyBaseLogger {
  const formatters = {
    log: (fields: object): object => Object.fromEntries(Object.entries(fields).filter(([name]) => FIELDS.has(name))),
  };
  return log.child({}, { formatters, serializers: { err: toLogReason } }) as FastifyBaseLogger;
}
