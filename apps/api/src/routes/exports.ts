import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { EXPORT_DATASETS, exportQuerySchema } from '@recount/contract';
import { type ExportDataset, requireMatches } from '@recount/db';
import { toFileEnding, toMediaType, writeExport } from '@recount/db/export';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiApp, ApiDependencies } from '../api-dependencies.ts';
import type { ApiConfig } from '../config.ts';
import { toAttachment } from '../http/download-headers.ts';
import { workspaceOf } from '../plugins/authentication.ts';
import { toResponse } from '../plugins/openapi.ts';
import { ProblemError, toLogReason } from '../problems/problem-error.ts';
import { resolveFilter } from './analytics.ts';

type Deps = Pick<ApiDependencies, 'database' | 'log'>;

interface WantedExport {
  workspaceId: string;
  dataset: ExportDataset;
  query: z.output<typeof exportQuerySchema>;
  onlyNames: readonly string[] | null;
  /** Takes out of rows what the reader may not see. */
  reveal: FastifyRequest['reveal'];
}

/**
 * Each one holds a Postgres connection for as long as its client reads; a client that stops reading is disconnected.
 */
export const MAX_CONCURRENT_EXPORTS = 2;
const RETRY_AFTER = { 'retry-after': '5' };

const DESCRIPTIONS: Readonly<Record<ExportDataset, string>> = {
  usage: 'API responses, each once, in the order of time.',
  messages: 'Messages of every session’s primary transcript, without their texts, transcript by transcript.',
  sessions: 'Sessions that began in the requested time, each with the usage credited to it and the usage it shares.',
};

const ANY_MEDIA_TYPE = 'application/octet-stream';
const file = z.string().meta({ contentMediaType: ANY_MEDIA_TYPE });

/** Whole data sets as files, streamed at the reader's pace. */
export function addExportRoutes(
  app: ApiApp,
  deps: Deps,
  { exportStallTimeoutMs }: Pick<ApiConfig, 'exportStallTimeoutMs'>,
): void {
  const startExport = createExportStarter(deps);
  for (const dataset of EXPORT_DATASETS) {
    app.get(
      `/v1/export/${dataset}`,
      {
        exposeHeadRoute: false,
        config: { scope: 'read', reveals: 'figures', isLimitable: true },
        schema: {
          operationId: `export${dataset.charAt(0).toUpperCase()}${dataset.slice(1)}`,
          summary: `Export ${dataset}`,
          description: `${DESCRIPTIONS[dataset]} All rows are of one snapshot. If the response breaks off, it is incomplete.`,
          tags: ['analytics'],
          querystring: exportQuerySchema,
          response: { 200: toResponse('CSV, NDJSON or Parquet', ANY_MEDIA_TYPE, file) },
        },
      },
      async (request, reply) => {
        const { query } = request;
        const { format } = query;
        const { onlyNames, reveal } = request;
        const wanted = { workspaceId: workspaceOf(request), dataset, query, onlyNames, reveal };
        const stream = await startExport(wanted, reply);
        if (stream === undefined) return reply.hijack();
        breakOffWhenStalled(reply, stream, exportStallTimeoutMs);
        reply
          .type(toMediaType(format))
          .header('content-disposition', toAttachment(`recount-${dataset}`, toFileEnding(format)));
        return reply.send(stream);
      },
    );
  }
}

/** The socket is also silent while the database is slow, which is not the reader's fault. */
function breakOffWhenStalled(reply: FastifyReply, stream: Readable, timeoutMs: number): void {
  reply.raw.setTimeout(timeoutMs, () => {
    if (reply.raw.writableNeedDrain) {
      reply.log.warn({ timeoutMs }, 'export aborted because its client reads nothing');
      stream.destroy();
      reply.raw.destroy();
    } else reply.raw.socket?.setTimeout(timeoutMs);
  });
}

/**
 * Resolves when the first bytes are available, to undefined if the client has gone before, or rejects. Later failures
 * can only break off the answer.
 */
function createExportStarter({ database, log }: Deps) {
  let underWay = 0;

  const run = async (wanted: WantedExport, output: PassThrough, signal: AbortSignal): Promise<void> => {
    if (underWay >= MAX_CONCURRENT_EXPORTS) {
      const detail = `At most ${MAX_CONCURRENT_EXPORTS} exports at a time; try again`;
      throw new ProblemError('too-many-exports', detail, { headers: RETRY_AFTER });
    }
    underWay++;
    try {
      const { workspaceId, dataset, query, onlyNames, reveal } = wanted;
      const { filter, unmatched } = await resolveFilter(database.database, workspaceId, query, onlyNames);
      // A file without rows would not say why.
      requireMatches(unmatched);
      const request = { dataset, format: query.format, filter, ...(reveal !== null && { reveal }) };
      await writeExport({ database }, request, output, { signal });
    } finally {
      underWay--;
    }
  };

  return async (wanted: WantedExport, reply: FastifyReply): Promise<Readable | undefined> => {
    if (reply.raw.closed) return undefined;
    const output = new PassThrough();
    const closed = new AbortController();
    output.once('close', () => closed.abort());
    reply.raw.once('close', () => output.destroy());
    const running = run(wanted, output, closed.signal);
    running.catch((error: unknown) => {
      if (reply.raw.headersSent && !closed.signal.aborted) {
        log.warn({ dataset: wanted.dataset, reason: toLogReason(error) }, 'export broke off');
      }
      output.destroy(error as Error);
    });
    try {
      await Promise.race([once(output, 'readable', { signal: closed.signal }), running]);
    } catch (error) {
      if (reply.raw.closed) return undefined;
      throw error;
    }
    return output;
  };
}
