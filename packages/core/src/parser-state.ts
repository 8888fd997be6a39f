import type { UlidState } from './ids/ulid-sequence.ts';
import type { LinePosition } from './lines/line-splitter.ts';
import { type AssemblerState, createAssemblerState } from './messages/message-assembler.ts';
import { createTotalsState, type TotalsState } from './messages/transcript-totals.ts';
import { createSessionFactsState, type SessionFactsState } from './records/claude-code/session-facts.ts';

/**
 * All that a parse remembers between two lines: plain objects, maps and sets, which its parts keep up to date. Objects
 * that several parts refer to are the same object.
 */
export interface ParserState {
  position: LinePosition;
  ids: UlidState;
  totals: TotalsState;
  facts: SessionFactsState;
  assembler: AssemblerState;
  /** Message ids of responses of a stream, by the tool use of the sub-agent that gets them. */
  streamResponses: Map<string, string>;
  /** Identities of the session events handed on. */
  eventKeys: Set<string>;
  prompts: { initial: string | undefined; sidechain: string | undefined };
  isWindowExceeded: boolean;
}

export function createParserState(): ParserState {
  return {
    position: { lineCount: 0, byteOffset: 0 },
    ids: { lastTimeMs: 0, counter: 0 },
    totals: createTotalsState(),
    facts: createSessionFactsState(),
    assembler: createAssemblerState(),
    streamResponses: new Map(),
    eventKeys: new Set(),
    prompts: { initial: undefined, sidechain: undefined },
    isWindowExceeded: false,
  };
}
