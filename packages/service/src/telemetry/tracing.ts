import type { Tracing } from './tracing-port.ts';

export type { Tracing } from './tracing-port.ts';

/** Attributes that connect the spans of an upload and its job. */
export const WORKSPACE_ID = 'recount.workspace_id';
export const TRANSCRIPT_ID = 'recount.transcript_id';
export const SIZE_BYTES = 'recount.transcript_size_bytes';

/** Does nothing, at no cost. */
export const noTracing: Tracing = {
  span: (_name, _attributes, work) => work(),
  annotate: () => undefined,
  close: async () => undefined,
};

/** OpenTelemetry's standard variables that decide whether and where spans are sent. */
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
 * Starts sending spans by OTLP over HTTP. The SDK reads the process's variables for endpoint, headers, timeouts,
 * certificates and resource attributes. `onError` is called if spans could not be sent.
 */
export async function startTracing(options: {
  /** Used unless OTEL_SERVICE_NAME is set. */
  serviceName: string;
  onError: (reason: string) => void;
}): Promise<Tracing> {
  // Loaded on demand, because the SDK takes 0.1 s to load.
  const { createOtlpTracing } = await import('./otlp-tracing.ts');
  return createOtlpTracing(options);
}
