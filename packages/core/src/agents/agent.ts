import type { IssueCode, IssueSeverity } from '../issues.ts';
import type { JsonObject } from '../rows.ts';
import type { LinePlace, TranscriptRecord } from './records.ts';

/** A line as a reader gets it. */
export interface ReaderLine extends LinePlace {
  /** When the line's last byte arrived, milliseconds since 1970; undefined unless the transcript is a stream. */
  arrivalMs: number | undefined;
}

/** What a reader says about one JSON value of a line. */
export interface ReadLine {
  /** The type that the transcript's statistics count it under; undefined if the value has none. */
  type: string | undefined;
  timestampMs: number | undefined;
  /** In the order in which they take effect; empty for most bookkeeping lines. */
  records: readonly TranscriptRecord[];
}

export interface ReaderContext {
  /** The session that the transcript is stored under. Undefined while a running session is watched. */
  sessionId?: string;
  /** Texts and tool inputs longer than this many bytes of UTF-8 are cut. */
  maxInlineContentBytes: number;
  /** The session is watched while it runs: readers emit LiveRecords and measure nothing (`contentBytes` may be 0). */
  isLive?: boolean;
  /**
   * The caller needs only responses and their usage: readers may leave out events, metadata and prompts, and of blocks
   * everything except their sizes and the searches that their tools count.
   */
  isUsageOnly?: boolean;
  /** Reports a fault in the current line. `error` never quotes the transcript, except for the name of a type. */
  report(code: IssueCode, severity: IssueSeverity, error: string, count?: number): void;
}

/** Reads the lines of one transcript in order. Never throws on bad input: bad lines become issues. */
export interface Reader {
  read(value: JsonObject, line: ReaderLine): ReadLine;
  /**
   * What the reader carries from line to line. Plain objects, maps and sets, kept small: it is part of every
   * checkpoint.
   */
  readonly state: unknown;
}

/** Whose transcript it is, according to its first lines. */
export interface ContentIdentity {
  sessionId: string | undefined;
  /** Present if the first message is a sub-agent's. */
  agentId: string | undefined;
  /** Present if the lines name the session that started this one as its sub-agent; `sessionId` is then the sub-agent's own. */
  parentSessionId: string | undefined;
  /** Whether a message has been seen. Until then, a sub-agent cannot be told from its parent. */
  hasMessage: boolean;
}

/** Byte sequences as they appear in the agent's JSON. A line that contains none of them cannot affect usage. */
interface UsageMarkers {
  /** At least one is on every line that affects the usage, cost or model of a response. */
  usage: readonly string[];
  /** On the result of every tool whose use counts searches; looked for while such a use waits for its result. */
  searches?: readonly string[];
  /**
   * On every line that holds an answer; looked for until the first line with usage, to recognise sessions that have
   * none.
   */
  answers?: readonly string[];
}

/** One form in which an agent's sessions reach recount. */
export interface Format {
  id: string;
  /**
   * `session`: the agent's own file. `stream`: the output of a run, which shows the same session in different lines.
   */
  kind: 'session' | 'stream';
  /**
   * `document`: one JSON document, which the agent rewrites as a whole. Readers get its entries as lines: each element
   * of a top-level array, or each member of a top-level object as an object with only that member. If the member is an
   * array, each of its elements becomes such an object (`{"messages":{…}}`). `detect` gets an outline: for an object,
   * all members found at the beginning of the document, with arrays reduced to their first element
   * (`{"id":"…","messages":{…}}`); for an array, its first element. Default: `lines`.
   */
  layout?: 'lines' | 'document';
  /**
   * Whether the agent rewrites lines that it has written; default: true for documents only. A later version of a
   * session then replaces an earlier one if it has all of its responses. A version that begins with all bytes of
   * another replaces it in any case.
   */
  isRewritten?: boolean;
  /** Whether the format holds no answers at all, so that their usage cannot be known. */
  lacksUsage?: boolean;
  /** Formats that hold less of the same session: a transcript in this format replaces those in the listed ones. */
  outranks?: readonly string[];
  /**
   * Confidence that a line is in this format, from 0 (no sign of it) to 1 (certain). The first line that any format
   * scores above 0 decides, and the highest score wins. Some agents' formats differ only in where their files are:
   * `path` is the file's path, if known.
   */
  detect(line: JsonObject, path?: string): number;
  /** Lets a scan for usage alone skip lines without parsing them. Undefined if all lines must be read. */
  usageMarkers?: UsageMarkers;
  /** Adds to `found` what the line says about the transcript. */
  identify?(line: JsonObject, found: ContentIdentity): void;
  /** `state` comes from a checkpoint of a reader of the same version. */
  createReader(context: ReaderContext, state?: unknown): Reader;
}

/** What a transcript's path says about it, by the agents' folder layouts. */
export interface PathIdentity {
  /** Present if the path names the session unambiguously. */
  sessionId: string | undefined;
  isSubagent: boolean;
  /** Present if the path has the parent's folder. */
  parentSessionId: string | undefined;
  agentId: string | undefined;
  /** File name without its extension. */
  stem: string;
}

/**
 * What a file beside a transcript is. `tool_result`: the full result of which the transcript has only the beginning.
 * `subagent`: facts about a sub-agent. `workflow`: a workflow's script, state or journal.
 */
export const ATTACHMENT_KINDS = ['tool_result', 'subagent', 'workflow'] as const;
export type AttachmentKind = (typeof ATTACHMENT_KINDS)[number];

/**
 * A file in the folder that an agent keeps for a session, named by its path within that folder, with `/` as separator.
 */
export interface AttachmentReference {
  sessionId: string;
  path: string;
}

export interface AttachmentIdentity extends AttachmentReference {
  kind: AttachmentKind;
}

/** How an agent keeps a session's files beside its transcript. Paths within the folder use `/` as separator. */
interface AgentAttachments {
  /** Which session's attachment a file on disk is; undefined if it is no attachment. */
  readPath(path: string): AttachmentIdentity | undefined;
  /** By the path within the session's folder; undefined for files that the agent does not keep there. */
  toKind(path: string): AttachmentKind | undefined;
  /** The attachment that the text of a tool's result points to. */
  findReference(text: string): AttachmentReference | undefined;
}

/** An option, with its value if it takes one, and the spellings in which the user may have passed it already. */
interface OutputOption {
  words: readonly string[];
  spellings: readonly string[];
  /** Whether the program accepts the option together with these arguments. Default: always. */
  isTaken?(args: readonly string[]): boolean;
}

/** The program that runs an agent, if recount can read its output while it runs. */
export interface AgentProgram {
  /** Base name, in lower case. */
  command: string;
  /** What the live API calls the form of its output. */
  sourceFormat: string;
  /** Options that make it print its stream, in addition to its own print mode. */
  outputOptions: readonly OutputOption[];
  /**
   * Index in the arguments at which missing options are inserted; undefined if the command prints no stream even with
   * them.
   */
  toOptionIndex(args: readonly string[]): number | undefined;
  /** Reads the stream line by line. */
  createReader(context: ReaderContext): Reader;
  /** Whether the usage on its lines includes earlier runs of a resumed session. Default: false. */
  countsWholeSession?: boolean;
}

export type Platform = 'linux' | 'darwin' | 'win32';

/**
 * Where an agent keeps its sessions on a machine. Data only: `packages/collect` looks there. Paths use `/` as separator
 * on all platforms.
 */
export interface SessionPlace {
  /**
   * `transcripts`: each file is a session or a sub-agent's transcript. `database`: an SQLite file with one or more
   * sessions. `folder`: the head file of a session that is spread over many files. `prompts`: a file with the prompts
   * of all sessions. `packages/collect` reads these three. `attachments`: files that belong to sessions, see the
   * agent's `attachments`. `aside`: files that lie beside sessions and are not collected; they are listed so that
   * nobody assumes they are kept.
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
  /** Platforms on which the agent uses this place. Default: all. */
  platforms?: readonly Platform[];
}

/** A table of an SQLite store with rows that belong to sessions. */
export interface SessionTable {
  table: string;
  /** The column with the session's id; in `children`, with the parent row's id. */
  owner: string;
  /** Columns that rows are sorted by. The first one is the time, by which rows of several tables are merged. */
  order: readonly string[];
  /** A column whose values only grow when rows are added or changed. */
  changed: string;
  /** The table with rows that belong to rows of this one, by their `id`. */
  children?: SessionTable;
}

/**
 * How an agent keeps sessions in SQLite. Data only: `packages/collect` reads such a store and writes each session as
 * canonical NDJSON (docs/formats/canonical-ndjson.md) for the agent's reader. Tables and columns that a version of the
 * store lacks are skipped.
 */
export interface SessionDatabase {
  /** Has one row for each session. */
  sessions: {
    table: string;
    id: string;
    /** The column with the id of the session that started this one as a sub-agent. */
    parent?: string;
    /** As in `SessionTable`. */
    changed?: string;
    /**
     * Columns that change with every message and only sum up other rows. Leaving them out makes growth an append. They
     * are kept if the store lacks one of the tables in `rows`.
     */
    without?: readonly string[];
  };
  /** At least the first one must exist. */
  rows: readonly [SessionTable, ...SessionTable[]];
  /**
   * A file of lines beside the database `database`, one for each session. Its lines are merged with the rows by their
   * field `time` and replace the tables in `replaces`. `*` in its path stands for the session's id.
   */
  log?: { database: string; file: string; time: string; replaces: readonly string[] };
}

/**
 * How an agent keeps a session in many JSON files. Data only: `packages/collect` writes them as canonical NDJSON
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
 * How an agent keeps each session in an SQLite file of its own, as blobs that refer to one another by their ids. `packages/collect` writes
 * such a session as canonical NDJSON (docs/formats/canonical-ndjson.md).
 */
export interface SessionBlobs {
  /** Its first row describes the session. */
  facts: { table: string; value: string };
  blobs: { table: string; id: string; data: string };
  /** What that row says, without secrets. Empty if it cannot be read. */
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
  /** The transcripts below the file's folder: each is named by its session's id. */
  transcripts: string;
}

/** A coding agent. Everything that recount knows about it is in its folder. */
export interface Agent {
  /** The one name for it in rows, reports, options and the API. */
  id: string;
  label: string;
  formats: readonly Format[];
  /** Undefined if it keeps no sessions on the machine. */
  places?: readonly SessionPlace[];
  /** How the database is laid out, if a place holds a `database`. */
  database?: SessionDatabase;
  /** How the databases are laid out, if a place holds a `database` for each session. */
  blobs?: SessionBlobs;
  /** How the files are laid out, if a place holds a `folder`. */
  folder?: SessionFolder;
  /** Set if a place holds `prompts`. */
  promptHistory?: PromptHistory;
  readPath?(path: string): PathIdentity;
  attachments?: AgentAttachments;
  program?: AgentProgram;
}
