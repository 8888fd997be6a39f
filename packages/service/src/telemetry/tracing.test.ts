import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Collector, startCollector } from './testing/start-collector.ts';
import { isTracingWanted, noTracing, startTracing } from './tracing.ts';

async function openCollector(status?: number): Promise<Collector> {
  const collector = await startCollector(status);
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    collector.close();
  });
  return collector;
}

describe('isTracingWanted', () => {
  it.each([
    [{}, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SDK_DISABLED: 'true' }, false],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_TRACES_EXPORTER: 'none' }, false],
  ])('answers for %j with %s', (environment, isWanted) => {
    expect(isTracingWanted(environment)).toBe(isWanted);
  });
});

describe('tracing', () => {
  it('sends spans as children of one another, and only the names of errors', async () => {
    const collector = await openCollector();
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=test');
    const errors: string[] = [];
    const tracing = await startTracing({ serviceName: 'recount-test', onError: (reason) => errors.push(reason) });
    const failing = tracing.span('outer', { number: 1 }, async () => {
      expect(await tracing.span('inner', {}, async () => 'result')).toBe('result');
      tracing.annotate({ later: true });
      throw new TypeError('private text');
    });
    await expect(failing).rejects.toThrow('private text');
    await tracing.close();
    const [inner, outer] = ['inner', 'outer'].map((name) => collector.spans.find((span) => span.name === name));
    expect(inner).toMatchObject({ traceId: outer?.traceId, parentSpanId: outer?.spanId });
    expect(outer?.status.code).toBe(2);
    expect(outer?.attributes).toEqual({ number: 1, later: true, 'error.type': 'TypeError' });
    const text = collector.bodies.join('');
    expect(text).toContain('recount-test');
    expect(text).toContain('deployment.environment.name');
    expect(text).not.toMatch(/private text|tracing\.test/);
    expect(errors).toEqual([]);
  });

  it('reports that spans were refused, and continues', async () => {
    const collector = await openCollector(400);
    const errors: string[] = [];
    const tracing = await startTracing({ serviceName: 'recount-test', onError: (reason) => errors.push(reason) });
    await tracing.span('lost', {}, async () => undefined);
    await tracing.close();
    expect(collector.bodies).toHaveLength(1);
    expect(errors).not.toEqual([]);
  });

  it('does nothing if it is not enabled', async () => {
    expect(await noTracing.span('none', {}, async () => 'result')).toBe('result');
    noTracing.annotate({});
    await noTracing.close();
  });
});
