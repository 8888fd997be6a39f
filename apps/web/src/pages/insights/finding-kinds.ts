import type { FindingKind } from '@recount/contract';
import { FINDING_LABELS } from '@recount/contract/choices';

export type Figure = 'times' | 'pause' | 'tokens' | 'estimated' | 'cost';

interface Kind {
  label: string;
  /** An explanation of the finding and its cost. */
  explanation: string;
  /** Advice for the reader. */
  advice: string;
  /** Head of the column of its tool and subject; undefined if it is about a whole session. */
  about?: string;
  /** The last one is the measure of its size. */
  figures: readonly Figure[];
}

/** The meaning of each kind of finding. */
export const KINDS: Readonly<Record<FindingKind, Kind>> = {
  'cold-cache': {
    label: FINDING_LABELS['cold-cache'],
    explanation:
      'Responses after a pause that outlasted the cache. The cost is the extra cost of writing those tokens again instead of reading them.',
    advice: 'Finish or compact before a break; start a new session after a long one.',
    about: 'Model',
    figures: ['pause', 'tokens', 'cost'],
  },
  'repeated-call': {
    label: FINDING_LABELS['repeated-call'],
    explanation:
      'The same tool with the same input, three times in a row or more. The cost belongs to the responses that called again.',
    advice: 'Check what it was waiting for. A command that ends by itself needs no polling.',
    about: 'Call',
    figures: ['times', 'estimated', 'cost'],
  },
  'repeated-error': {
    label: FINDING_LABELS['repeated-error'],
    explanation:
      'A tool that failed with the same error three times in a row or more. The cost belongs to the responses that tried again.',
    advice: 'Explain in the agent’s instructions what makes this fail here.',
    about: 'Call',
    figures: ['times', 'estimated', 'cost'],
  },
  'repeated-read': {
    label: FINDING_LABELS['repeated-read'],
    explanation:
      'The same part of a file read three times or more in a session, unedited in between. The cost belongs to the responses that read again.',
    advice: 'Often follows a compaction; smaller tasks need fewer of them.',
    about: 'File',
    figures: ['times', 'estimated', 'cost'],
  },
  'large-result': {
    label: FINDING_LABELS['large-result'],
    explanation:
      'Tool results of 40 kB or more. They stay in the context and are paid for by each response after them; ≈ tokens are a quarter of their bytes.',
    advice: 'Let commands print less, and files be read in parts.',
    about: 'Call',
    figures: ['estimated'],
  },
  'unfinished-session': {
    label: FINDING_LABELS['unfinished-session'],
    explanation:
      'The last prompt has no answer, or the last call no result, for an hour. The cost is the session’s own.',
    advice: 'Check whether the work was continued elsewhere.',
    about: 'Last call',
    figures: ['tokens', 'cost'],
  },
  'expensive-session': {
    label: FINDING_LABELS['expensive-session'],
    explanation: 'Sessions whose own cost is 10 or more.',
    advice: 'Look at the timeline. Cost grows with the length of the context.',
    figures: ['tokens', 'cost'],
  },
};

/** Whole sessions: what they cost is work, not waste. */
export const SESSION_KINDS: readonly FindingKind[] = ['unfinished-session', 'expensive-session'];
/** The other kinds. */
export const WASTE_KINDS = (Object.keys(KINDS) as FindingKind[]).filter((kind) => !SESSION_KINDS.includes(kind));
