import type { JsonObject } from '../../lines/json.ts';
import { readObject, readText } from '../../records/fields.ts';
import type { Agent, Format, PathIdentity } from '../agent.ts';
import type { SessionPlace } from '../session-places.ts';
import { toFileIdentity, toPathParts } from '../transcript-path.ts';
import { createClineReader } from './reader.ts';
import { createClineSessionReader } from './session-reader.ts';

/** Editors that the extensions run in, by the name of their data folder. */
const EDITORS = [
  ...[
    'Code',
    'Code - Insiders',
    'Code - OSS',
    'VSCodium',
    'Cursor',
    'Windsurf',
    'Antigravity',
    'Kiro',
    'Trae',
    'Positron',
  ],
];
/** The folders where the same editors keep data on a machine that they are connected to. */
const SERVERS = ['.vscode-server', '.vscode-server-insiders', '.vscodium-server', '.cursor-server', '.windsurf-server'];

const toPlaces = (extension: string): SessionPlace[] => {
  const files = [`User/globalStorage/${extension}/tasks/*/ui_messages.json`];
  const below = (folder: string) => EDITORS.map((editor) => `${folder}/${editor}`);
  return [
    {
      holds: 'transcripts',
      bases: [...below('.config'), ...SERVERS.map((folder) => `${folder}/data`)],
      files,
      platforms: ['linux'],
    },
    { holds: 'transcripts', bases: below('Library/Application Support'), files, platforms: ['darwin'] },
    { holds: 'transcripts', bases: below('AppData/Roaming'), files, platforms: ['win32'] },
  ];
};

/** `[{"ts":1769053680585,"type":"say","say":"text","text":"…"},…]` */
function isUiMessage({ ts, type, say, ask }: JsonObject): boolean {
  return (
    typeof ts === 'number' &&
    ((type === 'say' && typeof say === 'string') || (type === 'ask' && typeof ask === 'string'))
  );
}

const toFormats = (id: string, extension: string, byContent: number): Format[] => {
  const isBelow = (path: string | undefined) => path !== undefined && toPathParts(path).includes(extension);
  return [
    {
      id: `${id}-task`,
      kind: 'session',
      layout: 'document',
      detect: (outline, path) => (isUiMessage(outline) ? (isBelow(path) ? 0.9 : byContent) : 0),
      identify(line, found) {
        found.hasMessage ||= isUiMessage(line);
      },
      createReader: createClineReader,
    },
  ];
};

/** Also compressed. */
const FILE_NAME = /\.messages\.json(?:\.(?:gz|zst))?$/;

/**
 * `{"version":1,"updated_at":"…","agent":"lead","sessionId":"…","origin":{…},"messages":[…]}`. A sub-agent's id is
 * `<session>__<agent>`, or `<session>__teamtask__<agent>__<task>`.
 */
const sessionFormat: Format = {
  id: 'cline-session',
  kind: 'session',
  layout: 'document',
  detect({ version, agent, sessionId, messages }, path) {
    // The members may come in any order, and those behind long messages are not seen.
    const isSession = typeof version === 'number' && typeof agent === 'string' && typeof sessionId === 'string';
    if (isSession) return 0.9;
    return path !== undefined && FILE_NAME.test(path) && typeof readObject(messages)?.role === 'string' ? 0.8 : 0;
  },
  identify({ sessionId, origin, messages }, found) {
    found.sessionId ??= readText(sessionId) ?? undefined;
    const { parentThreadId, subagent } = readObject(origin) ?? {};
    const [root = '', agentId] = (found.sessionId ?? '').split(/__(?:teamtask__)?/);
    if (agentId !== undefined) {
      found.parentSessionId ??= readText(parentThreadId) ?? root;
      found.agentId ??= readText(subagent) ?? agentId;
    }
    found.hasMessage ||= messages !== undefined;
  },
  createReader: createClineSessionReader,
};

/** Sessions of Cline 3, which its CLI and its newer extensions share, and tasks of its first CLI. */
const CLI_PLACES: SessionPlace[] = [
  { holds: 'transcripts', variable: 'CLINE_SESSION_DATA_DIR', bases: [], files: ['*/*.messages.json'] },
  {
    ...{ holds: 'transcripts', variable: 'CLINE_DATA_DIR', bases: ['.cline/data'] },
    files: ['sessions/*/*.messages.json', 'tasks/*/ui_messages.json'],
  },
  {
    ...{ holds: 'transcripts', variable: 'CLINE_DIR', bases: [] },
    files: ['data/sessions/*/*.messages.json', 'data/tasks/*/ui_messages.json'],
  },
];

/** The name of a task's folder is its id; file names are the same for all tasks. */
function readTaskPath(path: string): PathIdentity {
  const parts = toPathParts(path);
  const isInTask = /^(ui_messages|claude_messages)\./.test(parts.at(-1) ?? '') && parts.length > 1;
  return { ...toFileIdentity(path), sessionId: isInTask ? parts.at(-2) : undefined };
}

const toAgent = (id: string, label: string, extension: string, byContent = 0): Agent => ({
  ...{ id, label, places: toPlaces(extension), formats: toFormats(id, extension, byContent), readPath: readTaskPath },
});

const clineTasks = toAgent('cline', 'Cline', 'saoudrizwan.claude-dev', 0.7);

/**
 * Cline: `<id>.messages.json` of a session since version 3, `ui_messages.json` of a task before; it rewrites both as a
 * whole. For the content of a task alone, Cline is assumed.
 */
export const cline: Agent = {
  ...clineTasks,
  places: [...CLI_PLACES, ...(clineTasks.places ?? [])],
  formats: [sessionFormat, ...clineTasks.formats],
};
/** Roo Code, a fork of Cline. */
export const roo = toAgent('roo', 'Roo Code', 'rooveterinaryinc.roo-cline');
/** Kilo Code's extension, a fork of Roo Code. Kilo CLI is a separate agent. */
export const kiloCode = toAgent('kilo-code', 'Kilo Code', 'kilocode.kilo-code');
