import type { JsonObject } from '../../lines/json.ts';
import { isJsonObject, readObject, readText } from '../../records/fields.ts';
import type { Agent } from '../agent.ts';
import { toCanonicalFormat } from '../canonical-lines.ts';
import { goDatabase, opencodeDatabase } from './databases.ts';
import { createOpencodeReader } from './reader.ts';
import { toStreamFormat } from './stream.ts';

/** A stream lacks the ids that name its responses in the store. */
const outranks = ['opencode-json'];

const isSessionId = (value: JsonObject[string] | undefined): value is string =>
  typeof value === 'string' && value.startsWith('ses_');

const isMessageId = (value: JsonObject[string] | undefined): boolean =>
  typeof value === 'string' && value.startsWith('msg_');

/**
 * opencode, with its SQLite store, in the tables of version 1 and of version 2, the store that its predecessor of 2025
 * kept in each project (`.opencode/opencode.db`, which no file lists, so that it must be named), the output of
 * `opencode export`, the JSON files of older versions, and the output of `opencode run --format json`.
 */
export const opencode: Agent = {
  id: 'opencode',
  label: 'opencode',
  toResumeWords: (sessionId) => ['opencode', '--session', sessionId],
  places: [
    { holds: 'database', variable: 'XDG_DATA_HOME', bases: ['.local/share'], files: ['opencode/opencode*.db'] },
    // Used before 1.2, which imports them into its database and leaves them in place.
    {
      holds: 'folder',
      variable: 'XDG_DATA_HOME',
      bases: ['.local/share'],
      files: ['opencode/storage/session/*/*.json'],
    },
  ],
  databases: [opencodeDatabase, goDatabase],
  folder: {
    ...{ head: 'storage/session/*/{session}.json', parent: 'parentID' },
    ...{ files: 'storage/message/{session}/*.json', children: 'storage/part/{name}/*.json' },
  },
  formats: [
    toCanonicalFormat('opencode', createOpencodeReader, outranks),
    {
      id: 'opencode-export',
      kind: 'session',
      outranks,
      layout: 'document',
      detect({ info, messages }) {
        const isExport = isJsonObject(info) && isSessionId(info.id);
        const message = readObject(messages);
        const isMessage =
          isJsonObject(message?.info) || (isMessageId(message?.id) && typeof message?.type === 'string');
        return isExport && (messages === undefined || isMessage) ? 1 : 0;
      },
      identify({ info, messages }, found) {
        const session = readObject(info);
        found.sessionId ??= readText(session?.id) ?? undefined;
        if (isSessionId(session?.parentID)) found.parentSessionId ??= session.parentID;
        found.hasMessage ||= messages !== undefined;
      },
      createReader: createOpencodeReader,
    },
    toStreamFormat('opencode-json', 0.8),
  ],
};

/** Kilo CLI, which is built on opencode and stores sessions the same way. */
export const kilo: Agent = {
  id: 'kilo',
  label: 'Kilo CLI',
  places: [{ holds: 'database', variable: 'XDG_DATA_HOME', bases: ['.local/share'], files: ['kilo/kilo*.db'] }],
  databases: [opencodeDatabase],
  formats: [
    toCanonicalFormat('kilo', createOpencodeReader, ['kilo-json']),
    // The same lines as opencode's. They are Kilo's only if the uploader says so.
    toStreamFormat('kilo-json', 0.7),
  ],
};
