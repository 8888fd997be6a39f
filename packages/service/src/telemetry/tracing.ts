import type { Tracing } from './tracing-port.ts';

export type { SpanAttributes, Tracing } from './tracing-port.ts';

/** Attributes by which the spans of upload and job are found together. */
export const WORKSPACE_ID = 'recount.workspace_id';
export const TRANSCRIPT_ID = 'recount.transcript_id';
export const SIZE_BYTES = 'recount.transcript_size_bytes';

/** Costs nothing. */
export const noTracing: Tracing = {
  span: (_name, _attributes, work) => work(),
  annotate: () => undefined,
  close: async () => undefined,
};

/** The standard variables of OpenTelemetry that say whether and where spans are sent to. */
export interface TracingEnvironment {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string | undefined;
  OTEL_SDK_DISABLED?: string | undefined;
  OTEL_TRACES_EXPORTER?: string | undefined;
}

export function isTracingWanted(environment: TracingEnvironment): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT } = environment;
  const isOff = environment.OTEL_SDK_DISABLED === 'true' || environment.OTEL_TRACES_EXPORTER === 'none';
  return !isOff && Boolean(OTEL_EXPORTER_OTLP_ENDPOINT || OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);
}

/**
 * Starts sending spans by OTLP over HTTP. The SDK reads the variables of the process for endpoint, headers, timeouts,
 * certificates and resource attributes. `onError` is told of spans that could not be sent.
 */
export async function startTracing(options: {
  /** Where OTEL_SERVICE_NAME does not say otherwise. */
  serviceName: string;
  onError: (reason: string) => void;
}): Promise<Tracing> {
  // The SDK takes 0.1 s to load: whoever does not trace should not pay for it.
  const { createOtlpTracing } = await import('./otlp-tracing.ts');
  return createOtlpTracing(options);
}
