import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, DiagLogLevel, diag, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Tracing } from './tracing-port.ts';

const MAX_QUEUED_SPANS = 2048;
const CLOSE_TIMEOUT_MS = 3000;
const MAX_REASON_LENGTH = 300;

export function createOtlpTracing({
  serviceName,
  onError,
}: {
  serviceName: string;
  onError: (reason: string) => void;
}): Tracing {
  reportFailures(onError);
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': serviceName }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: readSampler(process.env),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), maxQueueSize: MAX_QUEUED_SPANS })],
  });
  const tracer = provider.getTracer('recount');
  const underWay = new AsyncLocalStorage<Context>();
  return {
    async span(name, attributes, work) {
      const parent = underWay.getStore() ?? ROOT_CONTEXT;
      const span = tracer.startSpan(name, { attributes }, parent);
      try {
        return await underWay.run(trace.setSpan(parent, span), work);
      } catch (error) {
        // Messages and stacks are left out, because they are not meant for other systems.
        span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
        span.setStatus({ code: SpanStatusCode.ERROR });
        throw error;
      } finally {
        span.end();
      }
    },
    annotate(attributes) {
      const context = underWay.getStore();
      if (context !== undefined) trace.getSpan(context)?.setAttributes(attributes);
    },
    async close() {
      const { promise: timeout, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
      const shutdown = provider.shutdown().catch((error: Error) => onError(error.message));
      await Promise.race([shutdown, timeout]);
      clearTimeout(timer);
    },
  };
}

/** The SDK reports failures only if it has a logger. */
function reportFailures(onError: (reason: string) => void): void {
  const report = (message: string): void => onError(message.slice(0, MAX_REASON_LENGTH));
  const ignore = (): void => undefined;
  diag.setLogger(
    { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

/** Spans have no remote parents, so `parentbased_X` is the same as `X`. */
function readSampler({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument }: NodeJS.ProcessEnv): Sampler {
  if (name?.endsWith('always_off')) return new AlwaysOffSampler();
  if (!name?.endsWith('traceidratio')) return new AlwaysOnSampler();
  const ratio = Number(argument ?? '1');
  return new TraceIdRatioBasedSampler(ratio >= 0 && ratio <= 1 ? ratio : 1);
}
