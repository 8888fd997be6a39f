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
  /** As the transcript's statistics count it; undefined if the value has none. */
  type: string | undefined;
  timestampMs: number | undefined;
  /** In the order in which they take effect; none for most bookkeeping. */
  records: readonly TranscriptRecord[];
}

export interface ReaderContext {
  /** Under which the transcript is kept. Undefined if the session is watched while it runs. */
  sessionId?: string;
  /** Longer texts and tool inputs are cut, in bytes of UTF-8. */
  maxInlineContentBytes: number;
  /** The session is watched while it runs: LiveRecords are given, and nothing is measured (`contentBytes` may be 0). */
  isLive?: boolean;
  /**
   * Only responses and their usage are asked for: readers may leave out events, metadata, prompts, and what blocks say beyond
   * their sizes and the searches that their tools count.
   */
  isUsageOnly?: boolean;
  /** Reports a fault of the line that is being read. `error` never quotes the transcript beyond the name of a type. */
  report(code: IssueCode, severity: IssueSeverity, error: string, count?: number): void;
}

/** Reads the lines of one transcript, one after another. Total: bad lines become issues, never exceptions. */
export interface Reader {
  read(value: JsonObject, line: ReaderLine): ReadLine;
  /** What it remembers from line to line: plain objects, maps and sets, kept small, part of every checkpoint. */
  readonly state: unknown;
}

/** What a transcript's first lines say about whose it is. */
export interface ContentIdentity {
  sessionId: string | undefined;
  /** Present if the first message is a sub-agent's. */
  agentId: string | undefined;
  /** Present if the lines name the session that started this one as its sub-agent; `sessionId` is then the sub-agent's own. */
  parentSessionId: string | undefined;
  /** Whether a message has been seen: before that, a sub-agent cannot be told from its parent. */
  hasMessage: boolean;
}

/** Byte sequences, as the agent writes its JSON: a line that contains none of them has nothing to say about usage. */
interface UsageMarkers {
  /** On each line that bears on usage, cost or the model of a response. */
  usage: readonly string[];
  /** On each result of a tool whose use counts searches; looked for while such a use waits for its result. */
  searches?: readonly string[];
  /** On each line with an answer; looked for until a line with usage comes, to tell a session that has none. */
  answers?: readonly string[];
}

/** One form in which an agent's sessions reach recount. */
export interface Format {
  id: string;
  /** `session`: the agent's own file. `stream`: the output of a run, which shows the same session in other lines. */
  kind: 'session' | 'stream';
  /**
   * `document`: one JSON document, which the agent rewrites as a whole. Readers get its entries as lines: each element of a
   * top-level array, each member of a top-level object as an object with that member alone, and of a member that is an array,
   * each of its elements so (`{"messages":{…}}`). `detect` gets an outline: all members that stand in the document's beginning
   * in one object, of arrays the first element (`{"id":"…","messages":{…}}`); of a top-level array its first element. Default: `lines`.
   */
  layout?: 'lines' | 'document';
  /**
   * Whether the agent rewrites what it wrote; default: documents. A later version of a session then takes the place of an earlier one all of whose responses
   * it holds, as one that begins with the bytes of another always does.
   */
  isRewritten?: boolean;
  /** Whether there is nothing of answers in it, so that nobody can know what they used. */
  lacksUsage?: boolean;
  /** Formats in which the agent keeps a session with less: a transcript of this one takes the place of those of the same session. */
  outranks?: readonly string[];
  /**
   * How surely a line of a transcript is of this format: 0 says nothing, 1 is certain. The first line for which any
   * format is above 0 decides, and of several formats the surest. Formats of several agents may be the same but for
   * where they lie: `path` is the file's, if it is known.
   */
  detect(line: JsonObject, path?: string): number;
  /** How a scan for usage alone tells the lines that it can skip unread. Undefined if all lines must be read. */
  usageMarkers?: UsageMarkers;
  /** Adds to `found` what the line says about the transcript. */
  identify?(line: JsonObject, found: ContentIdentity): void;
  /** `state` is that of a reader of the same version, from a checkpoint. */
  createReader(context: ReaderContext, state?: unknown): Reader;
}

/** What the path of a transcript says, by the layout of an agent's own folders. */
export interface PathIdentity {
  /** Present if the path names the session for certain. */
  sessionId: string | undefined;
  isSubagent: boolean;
  /** Present if the path has the parent's folder. */
  parentSessionId: string | undefined;
  agentId: string | undefined;
  /** File name without its ending. */
  stem: string;
}

/**
 * What a file beside a transcript is for: `tool_result`: the whole of a result that the transcript has the beginning of.
 * `subagent`: facts about a sub-agent. `workflow`: script, state or journal of a workflow.
 */
export const ATTACHMENT_KINDS = ['tool_result', 'subagent', 'workflow'] as const;
export type AttachmentKind = (typeof ATTACHMENT_KINDS)[number];

/** A file in the folder that an agent keeps for a session, named by its path in that folder, with `/` between its parts. */
export interface AttachmentReference {
  sessionId: string;
  path: string;
}

export interface AttachmentIdentity extends AttachmentReference {
  kind: AttachmentKind;
}

/** How an agent keeps files of a session beside its transcript. All paths in the folder have `/` between their parts. */
interface AgentAttachments {
  /** Whose attachment a file on the disk is; undefined if it is none. */
  readPath(path: string): AttachmentIdentity | undefined;
  /** By the path in the session's folder; undefined for what the agent does not keep there. */
  toKind(path: string): AttachmentKind | undefined;
  /** The attachment that the text of a tool's result points to. */
  findReference(text: string): AttachmentReference | undefined;
}

/** One option with its value, if it takes one, and the spellings by which a user may have given it already. */
interface OutputOption {
  words: readonly string[];
  spellings: readonly string[];
  /** Whether the program takes the option beside these arguments. Default: always. */
  isTaken?(args: readonly string[]): boolean;
}

/** The program that runs an agent, if recount can read what it prints while it runs. */
export interface AgentProgram {
  /** Base name, in lower case. */
  command: string;
  /** What the live API calls the form of its output. */
  sourceFormat: string;
  /** What makes it print its stream, beside its own print mode. */
  outputOptions: readonly OutputOption[];
  /** Where in the arguments missing ones of these go; undefined if it would print no stream all the same. */
  toOptionIndex(args: readonly string[]): number | undefined;
  /** Reads that stream line by line. */
  createReader(context: ReaderContext): Reader;
  /** Whether the usage on its lines includes earlier runs of a resumed session. Default false. */
  countsWholeSession?: boolean;
}

export type Platform = 'linux' | 'darwin' | 'win32';

/**
 * Where an agent keeps its sessions on a person's machine. Data alone: `packages/collect` looks there. Paths have `/`
 * between their parts on all platforms.
 */
export interface SessionPlace {
  /**
   * `transcripts`: each file is a session, or a sub-agent's. `database`: an SQLite file with one or many sessions, `folder`: the head
   * of a session that lies in many files, `prompts`: a file with the prompts of all sessions; `packages/collect` reads these. `attachments`: files
   * that belong to sessions, as the agent's `attachments` says. `aside`: what lies beside sessions and is not brought; it is listed, so that nobody takes it for kept.
   */
  holds: 'transcripts' | 'database' | 'folder' | 'prompts' | 'attachments' | 'aside';
  /** What lies `aside`, for people: `large tool results`. */
  what?: string;
  /** Environment variable with the base folder, or several separated by commas. They take the place of `bases`. */
  variable?: string;
  /** Base folders below the user's home. All that exist are looked through. */
  bases: readonly string[];
  /** Files below a base folder: `*` stands for any characters of a name, `**` for any number of folders. */
  files: readonly string[];
  /**
   * The files are lists of folders, one for each project: `{"projects":[{"data_dir":"/home/ada/app/.crush"}]}`. What they hold is
   * `file` in each of the folders.
   */
  listed?: { list: string; folder: string; file: string };
  /** Where the agent keeps them so. Default: everywhere. */
  platforms?: readonly Platform[];
}

/** A table of an SQLite store that has rows of sessions. */
export interface SessionTable {
  table: string;
  /** The column with the session's id; of `children`, with their parent's. */
  owner: string;
  /** Columns that rows are sorted by: the first one is the time, by which those of several tables are merged. */
  order: readonly string[];
  /** A column that never falls when a row is added or changed. */
  changed: string;
  /** The table whose rows belong to rows of this one, by their `id`. */
  children?: SessionTable;
}

/**
 * How an agent keeps sessions in SQLite. Data alone: `packages/collect` reads such a store and writes each session as canonical
 * NDJSON (docs/formats/canonical-ndjson.md), which the agent's reader reads. Tables and columns that a version of the store does
 * not have are left out.
 */
export interface SessionDatabase {
  /** Has one row a session. */
  sessions: {
    table: string;
    id: string;
    /** The column with the id of the session that started this one as a sub-agent. */
    parent?: string;
    /** As in `SessionTable`. */
    changed?: string;
    /**
     * Columns that change with every message and only sum up what other rows say: without them, growth is an append. They are
     * kept if the store lacks one of the tables of `rows`.
     */
    without?: readonly string[];
  };
  /** At least the first one must be there. */
  rows: readonly [SessionTable, ...SessionTable[]];
  /**
   * A file of lines that each session has beside the database, whose name is `database`: its lines stand among the rows, by their
   * field `time`, and in place of the tables in `replaces`. `*` in its path stands for the session's id.
   */
  log?: { database: string; file: string; time: string; replaces: readonly string[] };
}

/**
 * How an agent keeps a session in many JSON files. Data alone: `packages/collect` writes them as canonical NDJSON
 * (docs/formats/canonical-ndjson.md). Paths are relative to the folder in which all of them lie, with `/` between their parts; `*` stands for
 * any characters of a name.
 */
export interface SessionFolder {
  /** What each session has one of; `{session}` stands for its id: `storage/session/*\/{session}.json`. */
  head: string;
  /** Field of the head with the id of the session that started this one as a sub-agent. */
  parent?: string;
  /** The other files of the session, in the order of their names. */
  files: string;
  /** Files that belong to one of these, whose name without ending `{name}` stands for. */
  children?: string;
}

/**
 * How an agent keeps each session in an SQLite file of its own, as blobs that refer to one another by their ids. `packages/collect` writes
 * such a session as canonical NDJSON (docs/formats/canonical-ndjson.md).
 */
export interface SessionBlobs {
  /** Its first row says what the session is. */
  facts: { table: string; value: string };
  blobs: { table: string; id: string; data: string };
  /** What the row of facts says, without secrets. Empty if it cannot be read. */
  readFacts(value: string): { sessionId?: string | undefined; rootId?: string | undefined; facts: JsonObject };
  /** The ids of the messages, in their order, from the blob of the latest state. Empty if it cannot be read. */
  readOrder(root: Uint8Array): string[];
}

/**
 * A file of lines in which the agent keeps the prompts of all its sessions, also of those whose transcripts are gone. Data alone:
 * `packages/collect` writes the prompts of each of these as canonical NDJSON (docs/formats/canonical-ndjson.md).
 */
export interface PromptHistory {
  /** The file's name. */
  file: string;
  isLine(line: JsonObject): boolean;
  /** Field with the session's id. Lines without it are of no session. */
  session: string;
  /** Field with the time, milliseconds since 1970. */
  time: string;
  /** The transcripts beside it, below its folder: each has the session's id as its name. */
  transcripts: string;
}

/** A coding agent: all that recount knows about it is in its folder. */
export interface Agent {
  /** The one name under which rows, reports, options and the API know it. */
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
  /** Of an agent with a place that holds `prompts`. */
  promptHistory?: PromptHistory;
  readPath?(path: string): PathIdentity;
  attachments?: AgentAttachments;
  program?: AgentProgram;
}
