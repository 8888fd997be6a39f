import type { Agent } from '../agent.ts';
import { toOptionsEnd } from '../option-position.ts';
import { createAmpReader } from './reader.ts';

const STREAM_TYPES = new Set<unknown>(['system', 'user', 'assistant', 'result']);

/** Amp: the output of `amp -x --stream-json`, which has the shape of Claude Code's. Its threads are named `T-…`. */
export const amp: Agent = {
  id: 'amp',
  label: 'Amp',
  places: [
    // Until threads moved to the server.
    { holds: 'transcripts', variable: 'XDG_DATA_HOME', bases: ['.local/share'], files: ['amp/threads/T-*.json'] },
  ],
  formats: [
    {
      id: 'amp-stream-json',
      kind: 'stream',
      detect: ({ session_id: id, type }) =>
        typeof id === 'string' && id.startsWith('T-') && STREAM_TYPES.has(type) ? 0.6 : 0,
    },
  ],
  program: {
    command: 'amp',
    sourceFormat: 'stream-json',
    outputOptions: [{ words: ['--stream-json'], spellings: ['--stream-json', '--stream-json-thinking'] }],
    toOptionIndex: toOptionsEnd,
    createReader: createAmpReader,
  },
};
