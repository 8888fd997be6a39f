import type { Agent } from '../agent.ts';

const TYPES = new Set<unknown>(['step_start', 'text', 'tool_use', 'step_finish', 'error']);

/** opencode: the output of `opencode run --format json`. Recognised, not read yet. */
export const opencode: Agent = {
  id: 'opencode',
  label: 'opencode',
  places: [{ holds: 'database', variable: 'XDG_DATA_HOME', bases: ['.local/share'], files: ['opencode/opencode*.db'] }],
  formats: [
    {
      id: 'opencode-json',
      kind: 'stream',
      detect: ({ type, sessionID }) => (TYPES.has(type) && typeof sessionID === 'string' ? 0.8 : 0),
    },
  ],
};
