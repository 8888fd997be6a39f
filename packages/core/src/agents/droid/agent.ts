import { isJsonObject, readText } from '../../records/fields.ts';
import type { Agent, PathIdentity } from '../agent.ts';
import { toSubagentSessionId } from '../subagent-session-id.ts';
import { toFileIdentity, toStem } from '../transcript-path.ts';
import { createDroidReader, createDroidSettingsReader, createDroidStreamReader } from './reader.ts';

/** A session's totals are stored as a sub-agent session with this id, so that they appear beside its messages. */
const TOTALS = 'settings';

/**
 * Droid (Factory). It has session files below `~/.factory/sessions`, each with a file of totals beside it, and the
 * output of `droid exec`.
 */
export const droid: Agent = {
  id: 'droid',
  label: 'Droid',
  places: [
    { holds: 'transcripts', bases: ['.factory'], files: ['sessions/**/*.jsonl', 'sessions/**/*.settings.json'] },
  ],
  formats: [
    {
      id: 'droid-session',
      kind: 'session',
      detect: ({ type, id }) => (type === 'session_start' && typeof id === 'string' ? 0.9 : 0),
      identify(line, found) {
        if (line.type === 'session_start') found.sessionId ??= readText(line.id) ?? undefined;
        found.hasMessage ||= line.type === 'message';
      },
      createReader: createDroidReader,
    },
    {
      id: 'droid-settings',
      kind: 'session',
      layout: 'document',
      detect(outline, path) {
        const isBeside = path !== undefined && /\.settings\.json(\.|$)/.test(path);
        return isBeside && (isJsonObject(outline.tokenUsage) || 'providerLock' in outline) ? 0.9 : 0;
      },
      createReader: createDroidSettingsReader,
    },
    {
      id: 'droid-stream-json',
      kind: 'stream',
      detect(line) {
        if (typeof line.sessionId !== 'string' && typeof line.session_id !== 'string') return 0;
        if (line.type === 'system') return line.subtype === 'init' && 'reasoning_effort' in line ? 1 : 0;
        const isMessage = line.type === 'message' && typeof line.role === 'string' && typeof line.text === 'string';
        return isMessage || (line.type === 'tool_call' && 'parameters' in line) ? 1 : 0;
      },
      identify(line, found) {
        found.sessionId ??= readText(line.sessionId ?? line.session_id) ?? undefined;
        found.hasMessage ||= line.type === 'message';
      },
      createReader: createDroidStreamReader,
    },
  ],
  readPath: readDroidPath,
};

function readDroidPath(path: string): PathIdentity {
  const stem = toStem(path);
  const parentSessionId = /^(.+)\.settings$/.exec(stem)?.[1];
  if (parentSessionId === undefined) return toFileIdentity(path);
  const sessionId = toSubagentSessionId(parentSessionId, TOTALS);
  return { sessionId, isSubagent: true, parentSessionId, agentId: TOTALS, stem };
}
