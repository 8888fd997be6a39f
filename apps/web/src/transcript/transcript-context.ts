import type { ContentBlock } from '@recount/contract';
import { createContext, type ReactNode } from 'react';

/** Facts about the whole transcript for its parts. */
export interface TranscriptValue {
  transcriptId: string;
  sessionId: string;
  /** The session of the sub-agent that a call started, to be opened in place; null if there is none. */
  renderSubagent: (use: ContentBlock) => ReactNode;
}

export const TranscriptContext = createContext<TranscriptValue>({
  transcriptId: '',
  sessionId: '',
  renderSubagent: () => null,
});
