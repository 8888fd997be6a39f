import type { Agent } from '../agent.ts';

/** Cursor: the output of `cursor-agent --output-format stream-json`. Recognised, not read yet. */
export const cursor: Agent = {
  id: 'cursor',
  label: 'Cursor',
  places: [
    {
      holds: 'transcripts',
      bases: ['.cursor'],
      files: ['projects/*/agent-transcripts/*.jsonl', 'projects/*/agent-transcripts/*/**/*.jsonl'],
    },
  ],
  formats: [
    {
      id: 'cursor-stream-json',
      kind: 'stream',
      // Claude Code's first line names its tools as well.
      detect: (line) =>
        typeof line.session_id === 'string' && line.type === 'system' && line.subtype === 'init' && !('tools' in line)
          ? 0.55
          : 0,
    },
  ],
};
