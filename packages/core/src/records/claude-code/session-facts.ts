import type { JsonObject, JsonValue, PullRequestLink, ReportedTotals, TranscriptMetadata } from '../../rows.ts';
import { cutCharacters, parseTimestampMs, readIdentifier, readObject, readText, toIsoTimestamp } from '../fields.ts';
import { toReportedTotals } from './reported-totals.ts';

const MAX_TITLE_LENGTH = 512;
const MAX_DISTINCT_LINE_TYPES = 128;
const MAX_MODELS = 64;
const MAX_PULL_REQUESTS = 256;
/** Model of the messages that Claude Code makes up itself. */
export const SYNTHETIC_MODEL = '<synthetic>';

export interface SessionFacts {
  /** Takes note of what a line of any type tells of its session. */
  observe(line: JsonObject, type: string): void;
  observeModel(model: string): void;
  toMetadata(): Omit<TranscriptMetadata, 'lineCount' | 'byteLength'>;
  /** Milliseconds since 1970, or undefined while no line had a timestamp. */
  readonly firstTimestampMs: number | undefined;
  readonly lastTimestampMs: number | undefined;
}

export type SessionFactsState = ReturnType<typeof createSessionFactsState>;

type Texts<Field extends string> = Record<Field, string | null>;

export function createSessionFactsState() {
  const first: Texts<'sessionId' | 'cwd' | 'version' | 'gitBranch' | 'entrypoint' | 'agentId'> = {
    sessionId: null,
    cwd: null,
    version: null,
    gitBranch: null,
    entrypoint: null,
    agentId: null,
  };
  const titles: Texts<'custom' | 'generated' | 'summary'> = { custom: null, generated: null, summary: null };
  const last: Texts<'permissionMode' | 'agentName'> = { permissionMode: null, agentName: null };
  const reported: Record<ReportedTotals['source'], ReportedTotals | null> = { 'cost-state': null, result: null };
  const span: { firstMs: number | undefined; lastMs: number | undefined } = { firstMs: undefined, lastMs: undefined };
  return {
    first,
    titles,
    last,
    reported,
    span,
    models: new Set<string>(),
    pullRequests: new Map<string, PullRequestLink>(),
    lineTypes: new Map<string, number>(),
    forkedFromSessionId: null as string | null,
  };
}

/**
 * Collects session metadata. Envelope fields (cwd, version, …) are the first line's that has them; metadata lines are
 * written again as they change, so of those the last one counts.
 */
export function createSessionFacts(state: SessionFactsState = createSessionFactsState()): SessionFacts {
  const { first, titles, last, reported, span, models, pullRequests, lineTypes } = state;
  let missingFields = (Object.keys(first) as (keyof typeof first)[]).filter((field) => first[field] === null);

  const observeTimestamp = (value: JsonValue | undefined): void => {
    const timeMs = parseTimestampMs(value);
    if (timeMs === undefined) return;
    if (span.firstMs === undefined || timeMs < span.firstMs) span.firstMs = timeMs;
    if (span.lastMs === undefined || timeMs > span.lastMs) span.lastMs = timeMs;
  };

  const observeByType = (line: JsonObject, type: string): void => {
    switch (type) {
      case 'custom-title':
        titles.custom = toTitle(line.customTitle) ?? titles.custom;
        break;
      case 'ai-title':
        titles.generated = toTitle(line.aiTitle) ?? titles.generated;
        break;
      case 'summary':
        titles.summary ??= toTitle(line.summary);
        break;
      case 'agent-name':
        last.agentName = toTitle(line.agentName) ?? last.agentName;
        break;
      case 'cost-state':
      case 'result':
        reported[type] = toReportedTotals(line, type) ?? reported[type];
        break;
      case 'pr-link': {
        const link = toPullRequestLink(line);
        const key = link.url ?? `${link.repository}#${link.number}`;
        if (pullRequests.size < MAX_PULL_REQUESTS || pullRequests.has(key)) pullRequests.set(key, link);
        break;
      }
      default:
    }
  };

  return {
    observe(line, type) {
      const countedType = lineTypes.size < MAX_DISTINCT_LINE_TYPES || lineTypes.has(type) ? type : 'other';
      lineTypes.set(countedType, (lineTypes.get(countedType) ?? 0) + 1);
      let hasFound = false;
      for (const field of missingFields) {
        first[field] = readIdentifier(line[field], ignoreCut);
        hasFound ||= first[field] !== null;
      }
      if (hasFound) missingFields = missingFields.filter((field) => first[field] === null);
      if (line.permissionMode !== undefined) {
        last.permissionMode = readIdentifier(line.permissionMode, ignoreCut) ?? last.permissionMode;
      }
      state.forkedFromSessionId ??= readIdentifier(readObject(line.forkedFrom)?.sessionId, ignoreCut);
      observeTimestamp(line.timestamp);
      observeByType(line, type);
    },
    observeModel(model) {
      if (model !== SYNTHETIC_MODEL && models.size < MAX_MODELS) models.add(model);
    },
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
        forkedFromSessionId: state.forkedFromSessionId,
        reportedTotals: reported['cost-state'] ?? reported.result,
        lineTypes: Object.fromEntries(lineTypes),
      };
    },
    get firstTimestampMs() {
      return span.firstMs;
    },
    get lastTimestampMs() {
      return span.lastMs;
    },
  };
}

function toTitle(value: JsonValue | undefined): string | null {
  const text = readText(value)?.trim();
  return text ? cutCharacters(text, MAX_TITLE_LENGTH) : null;
}

export function toPullRequestLink(line: JsonObject): PullRequestLink {
  const number = line.prNumber;
  return {
    number: typeof number === 'number' && Number.isSafeInteger(number) ? number : null,
    url: readIdentifier(line.prUrl, ignoreCut),
    repository: readIdentifier(line.prRepository, ignoreCut),
  };
}

/** A cut here is reported where the same field enters a row. */
function ignoreCut(): void {}
