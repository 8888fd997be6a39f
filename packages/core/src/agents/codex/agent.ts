import type { JsonObject } from '../../lines/json.ts';
import { readText } from '../../records/fields.ts';
import type { Agent, ContentIdentity } from '../agent.ts';
import { toOptionsEnd } from '../option-position.ts';
import { createDirectReader } from './direct-usage.ts';
import { createExecReader } from './exec-reader.ts';
import { detectRollout, toRolloutLine } from './rollout-lines.ts';
import { createRolloutReader } from './rollout-reader.ts';
import { codexTelemetry } from './telemetry.ts';
import { readParentThreadId } from './thread.ts';

const EXEC_TYPES = new Set<unknown>([
  ...['thread.started', 'turn.started', 'turn.completed', 'turn.failed'],
  ...['item.started', 'item.updated', 'item.completed'],
]);

/** OpenAI Codex, with rollouts below `~/.codex/sessions`, and the output of `codex exec --json`. */
export const codex: Agent = {
  id: 'codex',
  label: 'Codex',
  toResumeWords: (sessionId) => ['codex', 'resume', sessionId],
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
      // The stream has only the thread's total, so its usage cannot be matched with the rollout's responses.
      outranks: ['codex-exec'],
      createDirectReader,
      detect: detectRollout,
      identify: identifyRollout,
      createReader: createRolloutReader,
    },
    {
      id: 'codex-exec',
      kind: 'stream',
      detect: ({ type }) => (EXEC_TYPES.has(type) ? 0.9 : 0),
      identify(line, found) {
        found.sessionId ??= readText(line.thread_id) ?? undefined;
        found.hasMessage ||= line.type === 'item.completed';
      },
      createReader: createExecReader,
    },
  ],
  program: {
    command: 'codex',
    sourceFormat: 'exec-json',
    outputOptions: [{ words: ['--json'], spellings: ['--json', '--experimental-json'] }],
    // Only `codex exec` prints a stream, and its options come after the word `exec`.
    toOptionIndex(args) {
      const exec = args.slice(0, toOptionsEnd(args)).findIndex((word) => word === 'exec' || word === 'e');
      return exec === -1 ? undefined : exec + 1;
    },
    createReader: createExecReader,
    countsWholeSession: true,
  },
  telemetry: codexTelemetry,
};

/**
 * The first header is the file's own; later ones were copied with the history of the thread that this one was forked
 * from.
 */
function identifyRollout(source: JsonObject, found: ContentIdentity): void {
  const line = toRolloutLine(source);
  if (line?.type !== 'session_meta' || found.sessionId !== undefined) return;
  found.sessionId = readText(line.payload.id) ?? undefined;
  found.parentSessionId = readParentThreadId(line.payload) ?? undefined;
  found.hasMessage = true;
}
