import type { EventRecord, SessionRecord, SessionVariable } from '../records/records.ts';
import {
  type PullRequestLink,
  type ReportedTotals,
  SESSION_CONSTANTS,
  type SessionConstant,
  type SessionEvent,
  type TranscriptMetadata,
} from '../records/rows.ts';
import { toIsoTimestamp } from '../records/timestamps.ts';
import { createRecentKeys } from './recent-keys.ts';

const MAX_DISTINCT_LINE_TYPES = 128;
const MAX_MODELS = 64;
const MAX_PULL_REQUESTS = 256;

/** The facts of a transcript's records about the session as a whole. */
export interface SessionFacts {
  observeLine(type: string, timestampMs: number | undefined): void;
  observe(record: SessionRecord): void;
  observeModel(model: string): void;
  /** True if the lines so far have named the working directory and a time. */
  hasOrigin(): boolean;
  toMetadata(): Omit<TranscriptMetadata, 'lineCount' | 'byteLength'>;
  /** See `TranscriptStats.output_only_count`. */
  toOutputOnlyCount(): number;
  /** Last time of any line minus the first, in milliseconds. */
  toDurationMs(): number;
}

export type SessionFactsState = ReturnType<typeof createSessionFactsState>;

export function createSessionFactsState() {
  const first = Object.fromEntries(SESSION_CONSTANTS.map((name) => [name, null])) as Record<
    SessionConstant,
    string | null
  >;
  const last: Record<SessionVariable, string | null> = { permissionMode: null, agentName: null };
  const titles: Record<'custom' | 'generated' | 'summary', string | null> = {
    custom: null,
    generated: null,
    summary: null,
  };
  const reported: Record<ReportedTotals['source'], ReportedTotals | null> = { 'cost-state': null, result: null };
  const span: { firstMs: number | undefined; lastMs: number | undefined } = { firstMs: undefined, lastMs: undefined };
  return {
    first,
    last,
    titles,
    reported,
    span,
    outputOnlyCount: 0,
    models: new Set<string>(),
    pullRequests: new Map<string, PullRequestLink>(),
    lineTypes: new Map<string, number>(),
  };
}

export function createSessionFacts(state: SessionFactsState = createSessionFactsState()): SessionFacts {
  const { first, last, titles, reported, span, models, pullRequests, lineTypes } = state;
  return {
    observeLine(type, timestampMs) {
      const countedType = lineTypes.size < MAX_DISTINCT_LINE_TYPES || lineTypes.has(type) ? type : 'other';
      lineTypes.set(countedType, (lineTypes.get(countedType) ?? 0) + 1);
      if (timestampMs === undefined) return;
      if (span.firstMs === undefined || timestampMs < span.firstMs) span.firstMs = timestampMs;
      if (span.lastMs === undefined || timestampMs > span.lastMs) span.lastMs = timestampMs;
    },
    observe(record) {
      for (const [field, value] of toEntries(record.first)) first[field] ??= value;
      for (const [field, value] of toEntries(record.last)) last[field] = value;
      if (record.title !== undefined) {
        const { source, text } = record.title;
        titles[source] = source === 'summary' ? (titles.summary ?? text) : text;
      }
      if (record.reportedTotals !== undefined) reported[record.reportedTotals.source] = record.reportedTotals;
      state.outputOnlyCount = record.outputOnlyCount ?? state.outputOnlyCount;
      if (record.pullRequest !== undefined) {
        const { url, repository, number } = record.pullRequest;
        const key = url ?? `${repository}#${number}`;
        if (pullRequests.size < MAX_PULL_REQUESTS || pullRequests.has(key)) pullRequests.set(key, record.pullRequest);
      }
    },
    observeModel(model) {
      if (models.size < MAX_MODELS) models.add(model);
    },
    hasOrigin: () => first.cwd !== null && span.firstMs !== undefined,
    toMetadata() {
      const titleSource = (['custom', 'generated', 'summary'] as const).find((source) => titles[source] !== null);
      return {
        ...first,
        ...last,
        firstTimestamp: toIsoTimestamp(span.firstMs),
        lastTimestamp: toIsoTimestamp(span.lastMs),
        title: titleSource === undefined ? null : titles[titleSource],
        titleSource: titleSource ?? null,
        models: [...models],
        pullRequests: [...pullRequests.values()],
        reportedTotals: reported['cost-state'] ?? reported.result,
        lineTypes: Object.fromEntries(lineTypes),
      };
    },
    toOutputOnlyCount: () => state.outputOnlyCount,
    toDurationMs: () => (span.lastMs ?? 0) - (span.firstMs ?? 0),
  };
}

function toEntries<Field extends string>(values: Partial<Record<Field, string>> = {}): [Field, string][] {
  return Object.entries(values) as [Field, string][];
}

/** Events remembered to recognise their copies within the transcript. */
const MAX_REMEMBERED_EVENTS = 10_000;

/** Emits every event once, even if the transcript holds copies of its line. `known` are the events emitted before. */
export function createSessionEventTracker(
  sessionId: string,
  emit: (event: SessionEvent) => void,
  known = new Set<string>(),
): (record: EventRecord, lineNumber: number) => void {
  const knownKeys = createRecentKeys(MAX_REMEMBERED_EVENTS, known);
  return ({ event, uuid, timestampMs, isSubagent, identity }, lineNumber) => {
    const eventKey = `${event.kind}:${uuid ?? `${sessionId}:${lineNumber}`}`;
    if (!knownKeys.add(identity ?? eventKey)) return;
    emit({
      event_key: eventKey,
      kind: event.kind,
      session_id: sessionId,
      timestamp: toIsoTimestamp(timestampMs),
      is_subagent: isSubagent,
      name: event.name,
      details: event.details,
      line_number: lineNumber,
    });
  };
}
