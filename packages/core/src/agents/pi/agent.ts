import type { JsonObject } from '../../lines/json.ts';
import { readText } from '../../records/fields.ts';
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
 * Pi, with session files below `~/.pi/agent/sessions`. https://github.com/earendil-works/pi
 * packages/coding-agent/docs/session-format.md
 */
export const pi: Agent = {
  id: 'pi',
  label: 'Pi',
  toResumeWords: (sessionId) => ['pi', '--session', sessionId],
  places: [
    {
      ...{ holds: 'transcripts', variable: 'PI_CODING_AGENT_DIR', bases: ['.pi/agent'] },
      files: ['sessions/**/*.jsonl'],
    },
    { holds: 'transcripts', variable: 'PI_CODING_AGENT_SESSION_DIR', bases: [], files: ['**/*.jsonl'] },
  ],
  formats: [toFormat('pi-session', (line) => (isHeader(line) ? 0.7 : 0))],
};

/** `agents/<agent>/sessions/<file>`, wherever the state folder is. Neither Pi nor OMP has such a layout. */
function isOpenClawPath(path: string | undefined): boolean {
  if (path === undefined) return false;
  const parts = toPathParts(path);
  const isInSessions = parts.at(-2) === 'sessions' && parts.at(-4) === 'agents';
  return isInSessions || isBelow(path, '.openclaw') || isRenamedTranscript(path);
}

/** Places below the state folder; named profiles have separate state folders, as in `~/.openclaw-<profile>`. */
const toOpenClawPlaces = (place: Pick<SessionPlace, 'holds' | 'what'>, files: readonly string[]): SessionPlace[] => [
  { ...place, variable: 'OPENCLAW_STATE_DIR', bases: ['.openclaw', '.clawdbot', '.moltbot'], files },
  { ...place, bases: [''], files: files.map((file) => `.openclaw-*/${file}`) },
];

/**
 * OpenClaw, with files like Pi's, below `~/.openclaw/agents/<agent>/sessions`. Only their location tells them from
 * Pi's. `/new` and `/reset` rename a session's file to `<id>.jsonl.reset.<time>`, and removing a session to
 * `.deleted.<time>`; newer versions compress these. Since version 2026.6 sessions are in a database, and imported files
 * stay as `<key>.<id>.jsonl.imported-<time>`. https://github.com/openclaw/openclaw src/config/sessions/artifacts.ts
 */
export const openclaw: Agent = {
  id: 'openclaw',
  label: 'OpenClaw',
  places: [
    // Named before the sessions, whose pattern they match as well.
    ...toOpenClawPlaces({ holds: 'aside', what: 'what each run traced, which its session has as well' }, [
      'agents/*/sessions/*.trajectory.jsonl',
    ]),
    ...toOpenClawPlaces({ holds: 'transcripts' }, [
      ...['', '.reset.*Z', '.deleted.*Z', '.reset.*Z.zst', '.deleted.*Z.zst'].map(
        (ending) => `agents/*/sessions/*.jsonl${ending}`,
      ),
      'agents/*/session-sqlite-import-archive/*.jsonl.imported-*',
    ]),
    ...toOpenClawPlaces({ holds: 'database' }, ['agents/*/agent/openclaw-agent.sqlite']),
    ...toOpenClawPlaces({ holds: 'aside', what: 'sessions in cold storage, which is off by default' }, [
      'agents/*/sessions/cold/*.jsonl.zst',
    ]),
  ],
  databases: [openclawDatabase],
  formats: [
    toFormat('openclaw-session', (line, path) => (isHeader(line) && isOpenClawPath(path) ? 0.9 : 0)),
    { ...toCanonicalFormat('openclaw', createOpenClawStoreReader), id: 'openclaw-store' },
  ],
};

/**
 * OMP (oh-my-pi). It has files like Pi's below `~/.omp/agent/sessions`, most with their title in a line before the
 * header. https://github.com/can1357/oh-my-pi docs/session.md
 */
export const omp: Agent = {
  id: 'omp',
  label: 'OMP',
  places: [
    { holds: 'transcripts', bases: ['.omp/agent'], files: ['sessions/**/*.jsonl'] },
    { holds: 'transcripts', bases: ['.omp/profiles'], files: ['*/agent/sessions/**/*.jsonl'] },
    {
      ...{ holds: 'transcripts', variable: 'XDG_DATA_HOME', bases: ['.local/share'], platforms: ['linux'] },
      files: ['omp/sessions/**/*.jsonl', 'omp/profiles/*/sessions/**/*.jsonl'],
    },
  ],
  formats: [
    {
      ...toFormat('omp-session', (line, path) => {
        if (line.type === 'title' && typeof line.title === 'string') return 0.6;
        const isInOmp = isBelow(path, '.omp') || isBelow(path, 'omp');
        return isHeader(line) && (isInOmp || 'titleSource' in line) ? 0.9 : 0;
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
