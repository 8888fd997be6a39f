import { readText } from '../../records/fields.ts';
import type { JsonObject } from '../../rows.ts';
import type { Agent, Format, PathIdentity } from '../agent.ts';
import { toCanonicalFormat } from '../canonical-lines.ts';
import type { SessionPlace } from '../session-places.ts';
import { toSubagentSessionId } from '../subagent-session-id.ts';
import { isRenamedTranscript, toFileIdentity, toPathParts, toStem } from '../transcript-path.ts';
import { createOpenClawStoreReader, openclawDatabase } from './openclaw-store.ts';
import { createPiReader, toPiSessionId } from './reader.ts';

/** `{"type":"session","version":3,"id":"…","timestamp":"…","cwd":"…"}`; format version 1 had no `version`. */
function isHeader({ type, id, timestamp, version, cwd }: JsonObject): boolean {
  const isVersioned = typeof version === 'number' || typeof cwd === 'string';
  return type === 'session' && typeof id === 'string' && typeof timestamp === 'string' && isVersioned;
}

const isBelow = (path: string | undefined, folder: string): boolean =>
  path !== undefined && toPathParts(path).slice(0, -1).includes(folder);

const toFormat = (id: string, detect: Format['detect']): Format => ({
  id,
  kind: 'session',
  detect,
  identify(line, found) {
    if (line.type === 'session') found.sessionId ??= readText(line.id) ?? undefined;
    found.hasMessage ||= line.type === 'message';
  },
  createReader: createPiReader,
});

/**
 * Pi: session files below `~/.pi/agent/sessions`.
 * https://github.com/earendil-works/pi packages/coding-agent/docs/session-format.md
 */
export const pi: Agent = {
  id: 'pi',
  label: 'Pi',
  places: [
    {
      ...{ holds: 'transcripts', variable: 'PI_CODING_AGENT_DIR', bases: ['.pi/agent'] },
      files: ['sessions/**/*.jsonl'],
    },
  ],
  formats: [toFormat('pi-session', (line) => (isHeader(line) ? 0.7 : 0))],
};

/** `agents/<agent>/sessions/<file>`, wherever the state folder is: neither Pi nor OMP has such a layout. */
function isOpenClawPath(path: string | undefined): boolean {
  if (path === undefined) return false;
  const parts = toPathParts(path);
  const isInSessions = parts.at(-2) === 'sessions' && parts.at(-4) === 'agents';
  return isInSessions || isBelow(path, '.openclaw') || isRenamedTranscript(path);
}

const OPENCLAW_HOME: Pick<SessionPlace, 'variable' | 'bases'> = {
  variable: 'OPENCLAW_STATE_DIR',
  bases: ['.openclaw', '.clawdbot', '.moltbot', '.openclaw-dev'],
};

/**
 * OpenClaw: files like Pi's, below `~/.openclaw/agents/<agent>/sessions`. Only their location tells them from Pi's.
 * `/new` and `/reset` rename a session's file to `<id>.jsonl.reset.<time>`, and removing a session to
 * `.deleted.<time>`; newer versions compress these. Since version 2026.6 sessions are in a database, and imported files
 * are kept as `<key>.<id>.jsonl.imported-<time>`.
 * https://github.com/openclaw/openclaw src/config/sessions/artifacts.ts
 */
export const openclaw: Agent = {
  id: 'openclaw',
  label: 'OpenClaw',
  places: [
    // Named before the sessions, whose pattern they match as well.
    {
      ...{ holds: 'aside', what: 'what each run traced, which its session has as well', ...OPENCLAW_HOME },
      files: ['agents/*/sessions/*.trajectory.jsonl'],
    },
    {
      ...{ holds: 'transcripts', ...OPENCLAW_HOME },
      files: [
        ...['', '.reset.*Z', '.deleted.*Z', '.reset.*Z.zst', '.deleted.*Z.zst'].map(
          (ending) => `agents/*/sessions/*.jsonl${ending}`,
        ),
        'agents/*/session-sqlite-import-archive/*.jsonl.imported-*',
      ],
    },
    { holds: 'database', ...OPENCLAW_HOME, files: ['agents/*/agent/openclaw-agent.sqlite'] },
    {
      ...{ holds: 'aside', what: 'sessions in cold storage, which is off by default', ...OPENCLAW_HOME },
      files: ['agents/*/sessions/cold/*.jsonl.zst'],
    },
  ],
  databases: [openclawDatabase],
  formats: [
    toFormat('openclaw-session', (line, path) => (isHeader(line) && isOpenClawPath(path) ? 0.9 : 0)),
    { ...toCanonicalFormat('openclaw', createOpenClawStoreReader), id: 'openclaw-store' },
  ],
};

/**
 * OMP (oh-my-pi): files like Pi's below `~/.omp/agent/sessions`, most with their title in a line before the header.
 * https://github.com/can1357/oh-my-pi docs/session.md
 */
export const omp: Agent = {
  id: 'omp',
  label: 'OMP',
  places: [{ holds: 'transcripts', bases: ['.omp/agent'], files: ['sessions/**/*.jsonl'] }],
  formats: [
    {
      ...toFormat('omp-session', (line, path) => {
        if (line.type === 'title' && typeof line.title === 'string') return 0.6;
        return isHeader(line) && (isBelow(path, '.omp') || 'titleSource' in line) ? 0.9 : 0;
      }),
      // The title line.
      isRewritten: true,
    },
  ],
  readPath: readOmpPath,
};

/** The sub-agents of `<time>_<id>.jsonl` are `<time>_<id>/<name>.jsonl`. */
function readOmpPath(path: string): PathIdentity {
  const folder = toPathParts(path).at(-2) ?? '';
  const stem = toStem(path);
  const parentSessionId = toPiSessionId(folder);
  if (parentSessionId === folder) return toFileIdentity(path);
  const sessionId = toSubagentSessionId(parentSessionId, stem);
  return { sessionId, isSubagent: true, parentSessionId, agentId: stem, stem };
}
