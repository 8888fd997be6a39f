import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import type { Agent } from '../agent.ts';
import { toOptionsEnd } from '../option-position.ts';
import { createAmpReader } from './reader.ts';
import { createAmpThreadReader } from './thread.ts';

const STREAM_TYPES = new Set<unknown>(['system', 'user', 'assistant', 'result']);

/**
 * Amp, with the output of `amp threads export` and of `amp -x --stream-json`, which has the shape of Claude Code's.
 * Thread ids look like `T-…`.
 */
export const amp: Agent = {
  id: 'amp',
  label: 'Amp',
  places: [
    // Local threads, from before Amp moved them to its server.
    { holds: 'transcripts', variable: 'XDG_DATA_HOME', bases: ['.local/share'], files: ['amp/threads/T-*.json'] },
  ],
  formats: [
    {
      id: 'amp-thread',
      kind: 'session',
      // The stream has no response ids, so its usage cannot be matched with the thread's.
      outranks: ['amp-stream-json'],
      layout: 'document',
      detect({ id, messages, v, created }) {
        if (typeof id !== 'string' || !id.startsWith('T-')) return 0;
        return readObject(messages)?.role === undefined && v === undefined && created === undefined ? 0.3 : 0.9;
      },
      identify(line, found) {
        found.sessionId ??= readText(line.id) ?? undefined;
        found.hasMessage ||= isJsonObject(line.messages);
      },
      createReader: createAmpThreadReader,
    },
    {
      id: 'amp-stream-json',
      kind: 'stream',
      detect: ({ session_id: id, type }) =>
        typeof id === 'string' && id.startsWith('T-') && STREAM_TYPES.has(type) ? 0.6 : 0,
      identify(line, found) {
        found.sessionId ??= readText(line.session_id) ?? undefined;
        found.hasMessage ||= line.type === 'user' || line.type === 'assistant';
      },
      createReader: createAmpReader,
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
