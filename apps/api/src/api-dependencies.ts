import type { IngestDependencies } from '@recount/ingest';
import type { PriceSource } from '@recount/prices';
import type { Tracing } from '@recount/service/telemetry';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import type { ApiMetrics } from './metrics/metrics.ts';

export interface ApiDependencies extends IngestDependencies {
  log: Logger;
  /** Defaults to no tracing. */
  tracing?: Tracing;
  /** Defaults to unread metrics. */
  metrics?: ApiMetrics;
  /** Prices that precede the built-in list; undefined if none are set. */
  priceSource?: PriceSource | undefined;
  /** Requests to OpenID providers. Default Node's own. */
  requestProvider?: typeof fetch;
  /** Milliseconds since 1970. Default Date.now. */
  now?: () => number;
}

/** The fastify instance, with routes typed by their zod schemas. */
export type ApiApp = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression<RawServerDefault>,
  RawReplyDefaultExpression<RawServerDefault>,
  FastifyBaseLogger,
  ZodTypeProvider
>;
