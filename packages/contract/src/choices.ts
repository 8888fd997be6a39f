// Lists of choices, separate from the schemas so that command lines can show them without loading those.

export const SEARCH_MODES = ['text', 'substring'] as const;
export const SEARCH_SORTS = ['relevance', 'newest'] as const;
export const SEARCH_KINDS = [
  'prompt',
  'answer',
  'thinking',
  'tool_input',
  'tool_result',
  'summary',
  'context',
] as const;

const TIMES = ['hour', 'day', 'week', 'month'] as const;
const OF_SESSION = ['project', 'git_branch', 'agent', 'agent_version', 'person', 'machine'] as const;
export const SESSION_KEYS = [...TIMES, ...OF_SESSION] as const;
export const EVENT_KEYS = [...SESSION_KEYS, 'session'] as const;
export const USAGE_KEYS = [...TIMES, 'model', ...OF_SESSION, 'session'] as const;
/** All keys that reports can be grouped by. Each report accepts some of the keys. */
export const CALL_KEYS = [...USAGE_KEYS, 'tool', 'tool_kind'] as const;
export type GroupKey = (typeof CALL_KEYS)[number];

export const SUBAGENT_FILTERS = ['include', 'exclude', 'only'] as const;

export const FINDING_KINDS = [
  'repeated-call',
  'repeated-error',
  'repeated-read',
  'large-result',
  'cold-cache',
  'unfinished-session',
  'expensive-session',
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** The kinds of turns in a conversation. */
export const TURN_KINDS = ['prompt', 'answer', 'context', 'system'] as const;
