import type { EventFact, PlannedUsage, ResponseFact, ToolCallFact } from './facts.ts';

/** Collects the facts of a fleet, and provides ids. */
export interface FleetLedger {
  responses: Map<string, ResponseFact>;
  toolCalls: Map<string, ToolCallFact>;
  events: EventFact[];
  nextNumber(): number;
}

export interface SessionPlan {
  sessionId: string;
  project: string;
  branch: string;
  version: string;
  startMs: number;
  /** Set for a sub-agent's own transcript. */
  agentId?: string;
  parentId?: string;
}

export interface PlannedTool {
  name: string;
  input: Record<string, unknown>;
  /** Facts that follow from the input. */
  facts?: Partial<Pick<ToolCallFact, 'mcpServer' | 'program' | 'filePath' | 'subagentType' | 'skill'>>;
  /** Undefined means that no result ever comes. */
  result?: { text: string; afterMs: number; isError?: boolean; isDenied?: boolean; agentId?: string };
}

export interface PlannedResponse {
  model: string | null;
  usage: PlannedUsage;
  text: string;
  tools?: PlannedTool[];
  /** The transcript never contains the final output count: `usage.output` is the placeholder. */
  isUnfinalised?: boolean;
  isSidechain?: boolean;
}
