import type { JsonObject, JsonValue } from '../../lines/json.ts';
import { cutCharacters, readIdentifier, readObject, readText } from '../../records/fields.ts';
import type { SessionRecord } from '../../records/records.ts';
import type { PullRequestLink, ReportedTotals, SessionConstant } from '../../records/rows.ts';
import { addResult, toReportedTotals } from './reported-totals.ts';

const MAX_TITLE_LENGTH = 512;

/** Fields of the envelope that every line repeats. */
const ENVELOPE_FIELDS = ['sessionId', 'cwd', 'version', 'gitBranch', 'entrypoint', 'agentId'] as const;

type OnInvalidUsage = (field: string) => void;

/** The facts of earlier lines about the session. */
export interface SessionLineState {
  missing: Set<SessionConstant>;
  permissionMode: string | null;
  /** The sum of what the results of a stream state about themselves alone. */
  resultTotals: ReportedTotals | null;
}

export function createSessionLineState(): SessionLineState {
  return { missing: new Set([...ENVELOPE_FIELDS, 'forkedFromSessionId']), permissionMode: null, resultTotals: null };
}

/** The facts of the line about its session that is new or may have changed; undefined if nothing. */
export function toSessionRecord(
  line: JsonObject,
  type: string,
  state: SessionLineState,
  onInvalidUsage: OnInvalidUsage,
): SessionRecord | undefined {
  const { missing } = state;
  const first: SessionRecord['first'] = {};
  let isTelling = false;
  if (missing.size > 0) {
    for (const field of missing) {
      const source = field === 'forkedFromSessionId' ? readObject(line.forkedFrom)?.sessionId : line[field];
      const value = readIdentifier(source, ignoreCut);
      if (value === null) continue;
      first[field] = value;
      missing.delete(field);
      isTelling = true;
    }
  }
  const permissionMode = line.permissionMode === undefined ? null : readIdentifier(line.permissionMode, ignoreCut);
  const isModeNew = permissionMode !== null && permissionMode !== state.permissionMode;
  if (isModeNew) state.permissionMode = permissionMode;
  const own = toOwnFacts(line, type, onInvalidUsage);
  if (type === 'result' && own?.reportedTotals !== undefined) {
    state.resultTotals = addResult(state.resultTotals, line, onInvalidUsage);
    own.reportedTotals = state.resultTotals ?? own.reportedTotals;
  }
  if (!isTelling && !isModeNew && own === undefined) return undefined;
  const last = { ...own?.last, ...(isModeNew && { permissionMode }) };
  return { kind: 'session', ...own, first, last };
}

/** Facts of lines that exist only to state them; such a line is written again when the fact changes. */
function toOwnFacts(
  line: JsonObject,
  type: string,
  onInvalidUsage: OnInvalidUsage,
): Omit<SessionRecord, 'kind' | 'first'> | undefined {
  switch (type) {
    case 'custom-title':
      return toTitle('custom', line.customTitle);
    case 'ai-title':
      return toTitle('generated', line.aiTitle);
    case 'summary':
      return toTitle('summary', line.summary);
    case 'agent-name': {
      const agentName = toTitleText(line.agentName);
      return agentName === null ? undefined : { last: { agentName } };
    }
    case 'cost-state':
    case 'result': {
      const reportedTotals = toReportedTotals(line, type, onInvalidUsage);
      return reportedTotals && { reportedTotals };
    }
    case 'pr-link':
      return { pullRequest: toPullRequestLink(line) };
    default:
      return undefined;
  }
}

function toTitle(
  source: 'custom' | 'generated' | 'summary',
  value: JsonValue | undefined,
): Pick<SessionRecord, 'title'> | undefined {
  const text = toTitleText(value);
  return text === null ? undefined : { title: { source, text } };
}

function toTitleText(value: JsonValue | undefined): string | null {
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

/** The cut is reported when the same field is stored in a row. */
function ignoreCut(): void {}
