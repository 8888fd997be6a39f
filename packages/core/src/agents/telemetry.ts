import type { JsonValue } from '../lines/json.ts';
import { cutCharacters, MAX_IDENTIFIER_LENGTH, readCount, readDollars, readText } from '../records/fields.ts';
import { MAX_TOKENS_PER_FIELD } from '../records/usage.ts';
import { isSessionId } from './session-id.ts';

/** The simple values of a signal by their names. Lists and objects are left out; they hold texts. */
export type TelemetryAttributes = ReadonlyMap<string, string | number | boolean>;

/** A log record, a span, or a point of a metric that a program exports by OTLP. */
export interface TelemetrySignal {
  kind: 'event' | 'span' | 'sum';
  /**
   * Names of the event, the span or the metric. Programs name an event in a field, an attribute or the body of its log
   * record, so these are all three.
   */
  names: readonly string[];
  attributes: TelemetryAttributes;
  /** Attributes of the exporting program and its machine. */
  resource: TelemetryAttributes;
  /** The time of its end, in milliseconds since 1970; undefined if it does not say. */
  timeMs: number | undefined;
  /** The point of a metric. */
  point?: { value: number; startMs: number | undefined; isCumulative: boolean };
}

/** An API response, or the sum of several, according to an agent's telemetry. */
export interface TelemetryRecord {
  agent: string;
  /** `sum` is a part of a session's sums, which no single response can be compared with. */
  kind: 'request' | 'sum';
  sessionId: string;
  /** Id of the request or the response, if the agent states one; the transcript has the same. */
  requestId: string | null;
  model: string | null;
  /** The reason for the request, in the agent's word, such as `compact`; null if it does not say. */
  purpose: string | null;
  /** Milliseconds since 1970. */
  timestampMs: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** As the agent states it. */
  costUsd: number | null;
  person: string | null;
  machine: string | null;
  /**
   * The same each time that the record is exported, and different for all others of the agent. A record of a sum that
   * still grows has the same identity with larger figures.
   */
  identity: string;
}

/** Reads an agent's exports by OTLP. */
export interface AgentTelemetry {
  /** The record of a signal; undefined for signals of other programs, and for those about something else. */
  read(signal: TelemetrySignal): Omit<TelemetryRecord, 'agent'> | undefined;
}

/** The values that agents name differently. Counts do not overlap. */
interface RecordFields {
  sessionId: string | undefined;
  requestId?: string | undefined;
  model: string | undefined;
  purpose?: string | undefined;
  timestampMs: number | undefined;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  costUsd?: string | number | boolean | undefined;
  /** Tells records without a request id apart, in addition to session, time, model and figures. */
  order?: string | number | boolean | undefined;
}

const ignore = (): void => undefined;

/** The text of an attribute, cut to what a row can hold, without characters that Postgres does not store. */
export function readName(attributes: TelemetryAttributes, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = readText(attributes.get(name) as JsonValue | undefined);
    if (text !== null) return cutCharacters(text.replaceAll('\0', '').toWellFormed(), MAX_IDENTIFIER_LENGTH);
  }
  return undefined;
}

/** A count of tokens, also written as text; 0 if it is missing or implausible. */
export const readTokens = (attributes: TelemetryAttributes, name: string): number =>
  readCount(attributes.get(name) as JsonValue | undefined, MAX_TOKENS_PER_FIELD, ignore) ?? 0;

/** Milliseconds of an attribute with an ISO 8601 time. */
export function readTime(attributes: TelemetryAttributes, name: string): number | undefined {
  const ms = Date.parse(String(attributes.get(name) ?? ''));
  return Number.isNaN(ms) ? undefined : ms;
}

const MAX_TIME_MS = Date.UTC(10_000, 0, 1);

/** A record of one API response; undefined without a session, a time, or any token. */
export function toRequest(
  { attributes, resource }: Pick<TelemetrySignal, 'attributes' | 'resource'>,
  fields: RecordFields,
): Omit<TelemetryRecord, 'agent'> | undefined {
  const { sessionId = null, requestId = null, model = null, purpose = null, timestampMs, order } = fields;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = fields;
  if (!isSessionId(sessionId) || timestampMs === undefined || timestampMs < 0 || timestampMs >= MAX_TIME_MS) return;
  const tokens = { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens };
  const counts = Object.values(tokens);
  if (counts.every((count) => count === 0)) return undefined;
  return {
    kind: 'request',
    sessionId,
    requestId,
    model,
    purpose,
    timestampMs,
    ...tokens,
    costUsd: readDollars(fields.costUsd, ignore),
    ...readOrigin(attributes, resource),
    identity: requestId ?? JSON.stringify([sessionId, timestampMs, model, ...counts, order ?? null]),
  };
}

/** The person and the machine that a signal names. */
export function readOrigin(
  attributes: TelemetryAttributes,
  resource: TelemetryAttributes,
): Pick<TelemetryRecord, 'person' | 'machine'> {
  const person = readName(attributes, 'user.email', 'enduser.id') ?? readName(resource, 'user.email', 'enduser.id');
  return {
    person: person ?? null,
    machine: readName(attributes, 'host.name') ?? readName(resource, 'host.name') ?? null,
  };
}
