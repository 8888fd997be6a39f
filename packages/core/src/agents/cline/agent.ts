import type { JsonObject } from '../../rows.ts';
import type { Agent, Format, PathIdentity } from '../agent.ts';
import type { SessionPlace } from '../session-places.ts';
import { toFileIdentity, toPathParts } from '../transcript-path.ts';
import { createClineReader } from './reader.ts';

/** Editors that the extensions run in, by the name of their data folder. */
const EDITORS = ['Code', 'Code - Insiders', 'Cursor', 'Windsurf', 'VSCodium'];

const toPlaces = (extension: string): SessionPlace[] => {
  const files = [`User/globalStorage/${extension}/tasks/*/ui_messages.json`];
  const below = (folder: string) => EDITORS.map((editor) => `${folder}/${editor}`);
  return [
    { holds: 'transcripts', bases: [...below('.config'), '.vscode-server/data'], files, platforms: ['linux'] },
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

/** The name of a task's folder is its id; file names are the same for all tasks. */
function readTaskPath(path: string): PathIdentity {
  const parts = toPathParts(path);
  const isInTask = /^(ui_messages|claude_messages)\./.test(parts.at(-1) ?? '') && parts.length > 1;
  return { ...toFileIdentity(path), sessionId: isInTask ? parts.at(-2) : undefined };
}

const toAgent = (id: string, label: string, extension: string, byContent = 0): Agent => ({
  ...{ id, label, places: toPlaces(extension), formats: toFormats(id, extension, byContent), readPath: readTaskPath },
});

/**
 * Cline: `ui_messages.json` of a task, which it rewrites as a whole. If only the content is known, Cline is assumed.
 */
export const cline = toAgent('cline', 'Cline', 'saoudrizwan.claude-dev', 0.7);
/** Roo Code, a fork of Cline. */
export const roo = toAgent('roo', 'Roo Code', 'rooveterinaryinc.roo-cline');
/** Kilo Code's extension, a fork of Roo Code. Kilo CLI is a separate agent. */
export const kiloCode = toAgent('kilo-code', 'Kilo Code', 'kilocode.kilo-code');
