import type { JsonObject } from '../lines/json.ts';

export type Platform = 'linux' | 'darwin' | 'win32';

/**
 * The places where an agent keeps its sessions on a machine. Data only: `packages/collect` looks there. Paths use `/`
 * as separator on all platforms.
 */
export interface SessionPlace {
  /**
   * For `transcripts`, each file is a session or a sub-agent's transcript. `database` is an SQLite file with one or more
   * sessions. `folder` is the head file of a session that is spread over many files. `prompts` is a file with the
   * prompts of all sessions. `packages/collect` reads these three. `attachments` are files that belong to sessions, see
   * the agent's `attachments`. `aside` are files beside sessions that are not collected; they are listed so that no one
   * assumes they are stored.
   */
  holds: 'transcripts' | 'database' | 'folder' | 'prompts' | 'attachments' | 'aside';
  /** Describes files that are `aside`, for people: `large tool results`. */
  what?: string;
  /** Environment variable with the base folder, or several separated by commas. Overrides `bases`. */
  variable?: string;
  /** Base folders below the user's home. All that exist are searched. */
  bases: readonly string[];
  /** Files below a base folder: `*` matches within a name, `**` matches any number of folders. */
  files: readonly string[];
  /**
   * The files list project folders: `{"projects":[{"data_dir":"/home/ada/app/.crush"}]}`. In each listed folder, `file`
   * holds what this place describes.
   */
  listed?: { list: string; folder: string; file: string };
  /** Platforms where the agent uses this place. Defaults to all. */
  platforms?: readonly Platform[];
}

/** A table of an SQLite store with one row for each session. */
export interface SessionHeadTable {
  table: string;
  id: string;
  /** The column with the id of the session that started this one as a sub-agent. */
  parent?: string;
  /** As in `SessionTable`. */
  changed?: string;
  /**
   * Columns that change with every message and only sum up other rows. Leaving them out makes growth an append. They
   * stay if the store lacks the table `summedIn`.
   */
  without?: readonly string[];
  summedIn?: string;
}

/** A table of an SQLite store with rows that belong to sessions. */
export interface SessionTable {
  table: string;
  /** The column with the session's id; in `children`, with the parent row's id. */
  owner: string;
  /** Columns that rows are sorted by. The first one is the time, used to merge rows of several tables. */
  order: readonly string[];
  /** A column whose values only grow when rows are added or changed. */
  changed: string;
  /** The table with rows that belong to rows of this one, by their `id`. */
  children?: SessionTable;
  /**
   * The other table with a row for the session, if a session may have rows in several. It is written before the first
   * of these rows.
   */
  head?: string;
  /** Rows whose `id` is in this table as well are left out, because they are copies. */
  unless?: string;
  /** Only rows whose value in this column begins with this text are read; the store has the others elsewhere. */
  only?: { column: string; prefix: string };
  /** The table is not read if it lacks this column. Versions without it keep nothing else there. */
  needs?: string;
  /** A column with text compressed by zstd, which is written unpacked as the column `into` where that is null. */
  packed?: { column: string; into: string };
}

/**
 * Tables that are not read on purpose, with the reason for people, such as `passwords`. A final `*` stands for any
 * ending.
 */
type UnreadTables = Readonly<Record<string, string>>;

/**
 * The layout of an agent's sessions in SQLite. Data only: `packages/collect` reads such a store and writes each session
 * as canonical NDJSON (docs/formats/canonical-ndjson.md) for the agent's reader. Tables and columns that a version of
 * the store lacks are skipped. Tables that are named nowhere here are reported if they have rows.
 */
export interface SessionDatabase {
  /** At least one must exist. A session may have a row in each. */
  sessions: readonly [SessionHeadTable, ...SessionHeadTable[]];
  /** At least one must exist, with its columns. */
  rows: readonly [SessionTable, ...SessionTable[]];
  unread: UnreadTables;
  /** Columns that tell the store from others with the same tables: `messages.provider`. */
  has?: readonly string[];
  lacks?: readonly string[];
  /**
   * A file of lines beside the database `database`, one for each session. Its lines are merged with the rows by their
   * field `time` and replace the tables in `replaces`. `*` in its path stands for the session's id.
   */
  log?: { database: string; file: string; time: string; replaces: readonly string[] };
}

/**
 * The layout of a session in many JSON files. Data only: `packages/collect` writes them as canonical NDJSON
 * (docs/formats/canonical-ndjson.md). Paths are relative to the folder that contains them all and use `/` as separator;
 * `*` matches within a name.
 */
export interface SessionFolder {
  /** The one file that every session has; `{session}` stands for its id: `storage/session/*\/{session}.json`. */
  head: string;
  /** Field of that file with the id of the session that started this one as a sub-agent. */
  parent?: string;
  /** The session's other files, in the order of their names. */
  files: string;
  /** Files that belong to one of these; `{name}` stands for its name without extension. */
  children?: string;
}

/**
 * The layout of a session in a separate SQLite file, as blobs that refer to one another by their ids.
 * `packages/collect` writes such a session as canonical NDJSON (docs/formats/canonical-ndjson.md).
 */
export interface SessionBlobs {
  /** Its first row describes the session. */
  facts: { table: string; value: string };
  blobs: { table: string; id: string; data: string };
  unread: UnreadTables;
  /** The content of that row, without secrets. Empty if it cannot be read. */
  readFacts(value: string): { sessionId?: string | undefined; rootId?: string | undefined; facts: JsonObject };
  /** The message ids in order, from the blob of the latest state. Empty if it cannot be read. */
  readOrder(root: Uint8Array): string[];
}

/**
 * A file of lines with the prompts of all of an agent's sessions, including those whose transcripts were deleted. Data
 * only: `packages/collect` writes the prompts of each session as canonical NDJSON (docs/formats/canonical-ndjson.md).
 */
export interface PromptHistory {
  /** The file's name. */
  file: string;
  isLine(line: JsonObject): boolean;
  /** Field with the session's id. Lines without it belong to no session. */
  session: string;
  /** Field with the time, milliseconds since 1970. */
  time: string;
  /** The transcripts below the file's folder. Each is named by its session's id. */
  transcripts: string;
}
