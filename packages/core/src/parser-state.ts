import type { UlidState } from './ids/ulid-sequence.ts';
import type { LinePosition } from './lines/line-splitter.ts';
import { type AssemblerState, createAssemblerState } from './messages/message-assembler.ts';
import { createSessionFactsState, type SessionFactsState } from './messages/session-facts.ts';
import { createTotalsState, type TotalsState } from './messages/transcript-totals.ts';

/**
 * All that a parse remembers between two lines: plain objects, maps and sets, which its parts keep up to date.
 */
export interface ParserState {
  position: LinePosition;
  ids: UlidState;
  totals: TotalsState;
  facts: SessionFactsState;
  assembler: AssemblerState;
  /** The reader's own; undefined before the first line. */
  reader: unknown;
  /** Identities of the session events handed on. */
  eventKeys: Set<string>;
  prompts: { initial: string | undefined; sidechain: string | undefined };
  /** Whether lines of the oldest responses would count again. */
  areKeysForgotten: boolean;
}

export function createParserState(): ParserState {
  return {
    position: { lineCount: 0, byteOffset: 0 },
    ids: { lastTimeMs: 0, counter: 0 },
    totals: createTotalsState(),
    facts: createSessionFactsState(),
    assembler: createAssemblerState(),
    reader: undefined,
    eventKeys: new Set(),
    prompts: { initial: undefined, sidechain: undefined },
    areKeysForgotten: false,
  };
}
