import type { TelemetryAttributes, TelemetrySignal } from '@recount/core';
import type { KeyValue, NumberDataPoint, OtlpMessages } from './otlp-schema.ts';

/** Names of attributes that are longer belong to no agent. */
const MAX_NAME_LENGTH = 200;
/** No agent has nearly as many for each record. */
const MAX_ATTRIBUTES = 200;
const CUMULATIVE = 2;

/** The log records of a request, one after the other. */
export function* toEvents({ resourceLogs = [] }: OtlpMessages['LogsRequest']): Generator<TelemetrySignal> {
  for (const { resource, scopeLogs = [] } of resourceLogs) {
    const ofProgram = toAttributes(resource?.attributes);
    for (const { attributes: list, body, eventName, ...times } of scopeLogs.flatMap(
      ({ logRecords = [] }) => logRecords,
    )) {
      const attributes = toAttributes(list);
      yield {
        kind: 'event',
        names: toNames(attributes.get('event.name'), body?.stringValue, eventName),
        attributes,
        resource: ofProgram,
        timeMs: toMs(times.timeUnixNano) ?? toMs(times.observedTimeUnixNano),
      };
    }
  }
}

/** The points of a request’s sums. Other metrics hold no usage. */
export function* toPoints({ resourceMetrics = [] }: OtlpMessages['MetricsRequest']): Generator<TelemetrySignal> {
  for (const { resource, scopeMetrics = [] } of resourceMetrics) {
    const ofProgram = toAttributes(resource?.attributes);
    for (const { name, sum } of scopeMetrics.flatMap(({ metrics = [] }) => metrics)) {
      const isCumulative = sum?.aggregationTemporality === CUMULATIVE;
      for (const point of sum?.dataPoints ?? []) yield toPoint(name, point, isCumulative, ofProgram);
    }
  }
}

const toPoint = (
  name: string | undefined,
  { asDouble, asInt, attributes, timeUnixNano, startTimeUnixNano }: NumberDataPoint,
  isCumulative: boolean,
  resource: TelemetryAttributes,
): TelemetrySignal => ({
  kind: 'sum',
  names: toNames(name),
  attributes: toAttributes(attributes),
  resource,
  timeMs: toMs(timeUnixNano),
  point: { value: asInt ?? asDouble ?? 0, startMs: toMs(startTimeUnixNano), isCumulative },
});

/** The spans of a request. */
export function* toSpans({ resourceSpans = [] }: OtlpMessages['TracesRequest']): Generator<TelemetrySignal> {
  for (const { resource, scopeSpans = [] } of resourceSpans) {
    const ofProgram = toAttributes(resource?.attributes);
    for (const { name, attributes, endTimeUnixNano } of scopeSpans.flatMap(({ spans = [] }) => spans)) {
      yield {
        kind: 'span',
        names: toNames(name),
        attributes: toAttributes(attributes),
        resource: ofProgram,
        timeMs: toMs(endTimeUnixNano),
      };
    }
  }
}

const toNames = (...names: readonly (string | number | boolean | undefined)[]): string[] =>
  names.filter((name) => typeof name === 'string' && name !== '' && name.length <= MAX_NAME_LENGTH) as string[];

/** Nanoseconds beyond 2^53 are rounded to some hundreds of them. */
const toMs = (nanoseconds: number | undefined): number | undefined =>
  nanoseconds === undefined || nanoseconds === 0 ? undefined : Math.floor(nanoseconds / 1e6);

function toAttributes(list: readonly KeyValue[] = []): TelemetryAttributes {
  const attributes = new Map<string, string | number | boolean>();
  for (const { key, value } of list.slice(0, MAX_ATTRIBUTES)) {
    const simple = value?.stringValue ?? value?.boolValue ?? value?.intValue ?? value?.doubleValue;
    if (key !== undefined && key.length <= MAX_NAME_LENGTH && simple !== undefined) attributes.set(key, simple);
  }
  return attributes;
}
