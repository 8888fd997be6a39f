import type { ShownBlock } from '@recount/contract/conversation';
import { createContext, type ReactNode } from 'react';

/** Facts about the whole transcript for its parts. */
export interface TranscriptValue {
  transcriptId: string;
  sessionId: string;
  /** True if its prompts are by the agent that started it. */
  isSubagent: boolean;
  /** The session of the sub-agent that a call started, to be opened in place; null if there is none. */
  renderSubagent: (use: ShownBlock) => ReactNode;
}

export const TranscriptContext = createContext<TranscriptValue>({
  transcriptId: '',
  sessionId: '',
  isSubagent: false,
  renderSubagent: () => null,
});
