import type { EventFact, EventKind, ResponseFact, SessionFact } from './facts.ts';
import { priceByHand } from './known-prices.ts';
import { type Line, toUuid } from './lines.ts';
import type { FleetLedger, PlannedResponse, SessionPlan } from './plan.ts';

/** The written part of a transcript, and the facts about its session. */
export interface SessionState {
  lines: Line[];
  nowMs: number;
  previousUuid: string | null;
  awaitsAnswer: boolean;
  responses: Set<ResponseFact>;
  /** Pull requests already linked by a line. Further links add nothing. */
  linkedUrls: Set<string>;
  fact: Pick<SessionFact, 'messages' | 'toolUseCount' | 'promptCount' | 'turnCount' | 'reportedUnits'>;
}

export function createState(startMs: number): SessionState {
  return {
    lines: [],
    nowMs: startMs,
    previousUuid: null,
    awaitsAnswer: false,
    responses: new Set(),
    linkedUrls: new Set(),
    fact: { messages: [], toolUseCount: 0, promptCount: 0, turnCount: 0, reportedUnits: null },
  };
}

export function copyState(state: SessionState): SessionState {
  return {
    ...state,
    lines: [...state.lines],
    responses: new Set(state.responses),
    linkedUrls: new Set(state.linkedUrls),
    fact: { ...state.fact, messages: [...state.fact.messages], reportedUnits: null },
  };
}

/** The session's id in the warehouse. A sub-agent's is made from its parent's and its own. */
export const toSessionId = ({ sessionId, agentId, parentId }: SessionPlan): string =>
  agentId === undefined ? sessionId : `${parentId}:${agentId}`;

/** Adds lines to a transcript, and their meaning to the facts. */
export interface Scribe {
  /** Writes a line with its own envelope; `isUser` and `model` describe its message, if it is one. */
  write(line: Line, options?: { isSidechain?: boolean; message?: { isUser: boolean; model: string | null } }): Line;
  noteEvent(kind: EventKind, name: string | null, details?: EventFact['details']): void;
  noteResponse(
    key: string,
    response: Pick<PlannedResponse, 'model' | 'usage'>,
    by: { isSubagent: boolean; agentId?: string | undefined },
  ): ResponseFact;
}

export function createScribe(ledger: FleetLedger, plan: SessionPlan, state: SessionState): Scribe {
  const isSubagentFile = plan.agentId !== undefined;
  const ownId = toSessionId(plan);
  return {
    write(content, { isSidechain = false, message } = {}) {
      const uuid = toUuid(ledger.nextNumber());
      const line = {
        parentUuid: state.previousUuid,
        isSidechain: isSidechain || isSubagentFile,
        ...(isSubagentFile && { agentId: plan.agentId }),
        cwd: plan.project,
        sessionId: isSubagentFile ? plan.parentId : plan.sessionId,
        version: plan.version,
        gitBranch: plan.branch,
        uuid,
        timestamp: new Date(state.nowMs).toISOString(),
        ...content,
      };
      state.previousUuid = uuid;
      state.lines.push(line);
      if (message !== undefined) {
        state.fact.messages.push({ ...message, atMs: state.nowMs, isSubagent: isSidechain || isSubagentFile });
      }
      return line;
    },
    noteEvent(kind, name, details = {}) {
      const { nowMs: atMs } = state;
      ledger.events.push({ kind, sessionId: ownId, atMs, isSubagent: isSubagentFile, name, details });
    },
    noteResponse(key, { model, usage }, { isSubagent, agentId }) {
      const fact: ResponseFact = {
        key,
        model,
        usage,
        ...priceByHand(model, usage),
        atMs: state.nowMs,
        sessionId: ownId,
        holders: new Set([ownId]),
        isSubagent,
        agentId: agentId ?? null,
        branch: plan.branch,
        version: plan.version,
        estimatedOutput: null,
      };
      ledger.responses.set(key, fact);
      state.responses.add(fact);
      return fact;
    },
  };
}
