import { isJsonObject } from '../../records/fields.ts';
import type { Agent } from '../agent.ts';
import { toOptionsEnd } from '../option-position.ts';
import { createCodexReader } from './reader.ts';

const ROLLOUT_TYPES = new Set<unknown>(['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted']);

/** OpenAI Codex: rollouts below `~/.codex/sessions`, and the output of `codex exec --json`. */
export const codex: Agent = {
  id: 'codex',
  label: 'Codex',
  places: [
    {
      holds: 'transcripts',
      variable: 'CODEX_HOME',
      bases: ['.codex'],
      files: [
        'sessions/**/*.jsonl',
        'sessions/**/*.jsonl.zst',
        'archived_sessions/**/*.jsonl',
        'archived_sessions/**/*.jsonl.zst',
      ],
    },
  ],
  formats: [
    {
      id: 'codex-rollout',
      kind: 'session',
      detect: (line) => (ROLLOUT_TYPES.has(line.type) && isJsonObject(line.payload) ? 0.9 : 0),
    },
    {
      id: 'codex-exec',
      kind: 'stream',
      detect: ({ type }) => (typeof type === 'string' && /^(thread|turn|item)\./.test(type) ? 0.9 : 0),
    },
  ],
  program: {
    command: 'codex',
    sourceFormat: 'exec-json',
    outputOptions: [{ words: ['--json'], spellings: ['--json', '--experimental-json'] }],
    // `codex exec` alone prints a stream, and takes the option after its own name.
    toOptionIndex(args) {
      const exec = args.slice(0, toOptionsEnd(args)).findIndex((word) => word === 'exec' || word === 'e');
      return exec === -1 ? undefined : exec + 1;
    },
    createReader: createCodexReader,
    countsWholeSession: true,
  },
};
