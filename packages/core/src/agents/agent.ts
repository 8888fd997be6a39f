import type { IssueCode, IssueSeverity } from '../lines/issues.ts';
import type { JsonObject, JsonValue } from '../lines/json.ts';
import type { LinePlace, TranscriptRecord } from '../records/records.ts';
import type { Usage } from '../records/usage.ts';
import type { PromptHistory, SessionBlobs, SessionDatabase, SessionFolder, SessionPlace } from './session-places.ts';
import type { AgentTelemetry } from './telemetry.ts';

/** A line as a reader gets it. */
export interface ReaderLine extends LinePlace {
  /** The arrival of the line's last byte, in milliseconds since 1970; undefined unless the transcript is a stream. */
  arrivalMs: number | undefined;
}

/** The reader's words about one JSON value of a line. */
export interface ReadLine {
  /** The type that the transcript's statistics count it under; undefined if the value has none. */
  type: string | undefined;
  timestampMs: number | undefined;
  /** In the order of their effect; empty for most bookkeeping lines. */
  records: readonly TranscriptRecord[];
}

export interface ReaderContext {
  /** The session that the transcript is stored under. Undefined while a running session is watched. */
  sessionId?: string;
  /** The whole transcript is certainly a sub-agent's. */
  isSubagent?: boolean;
  /** Texts and tool inputs longer than this many bytes of UTF-8 are cut. */
  maxInlineContentBytes: number;
  /** The session is watched while it runs. Readers emit LiveRecords and measure nothing (`contentBytes` may be 0). */
  isLive?: boolean;
  /**
   * The caller needs only responses and their usage. Readers may leave out events, metadata and prompts, and of blocks
   * everything except their sizes and the searches that their tools count.
   */
  isUsageOnly?: boolean;
  /** Reports a fault in the current line. `error` never quotes the transcript, except for the name of a type. */
  report(code: IssueCode, severity: IssueSeverity, error: string, count?: number): void;
}

/** Reads the lines of one transcript in order. Never throws on bad input; bad lines become issues. */
export interface Reader {
  read(value: JsonObject, line: ReaderLine): ReadLine;
  /**
   * Compares totals that the transcript states with those counted, and reports `total_mismatch`. Called after the last
   * line; a transcript that grows is read further with the state from before the call.
   */
  finish?(): void;
  /** Records that only the end of a document decides. Called once, after the last entry and before `finish`. */
  readEnd?(): readonly TranscriptRecord[];
  /**
   * The state that the reader carries from line to line. Plain objects, maps and sets, kept small, because it is part
   * of every checkpoint.
   */
  readonly state: unknown;
}

/** The owner of the transcript, according to its first lines. */
export interface ContentIdentity {
  sessionId: string | undefined;
  /** Present if the first message is a sub-agent's. */
  agentId: string | undefined;
  /** Present if the lines name the session that started this one as its sub-agent; `sessionId` is then the sub-agent's own. */
  parentSessionId: string | undefined;
  /** The lines say that the session is a sub-agent's, without naming its parent; `sessionId` is then its own. */
  isSubagent?: boolean;
  /** True if a message has been seen. Until then, a sub-agent cannot be told from its parent. */
  hasMessage: boolean;
}

/** Byte sequences as they appear in the agent's JSON. A line without any of these cannot affect usage. */
export interface UsageMarkers {
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

/** A line of the API response that its unique id names. */
export interface AnswerLine {
  responseId: string;
  source: 'message' | 'progress';
  timestampMs: number | undefined;
  model: string | null;
  isSynthetic: boolean;
  stopReason: string | null;
  usage: Usage | undefined;
  reportedCostUsd: number | null;
  gitBranch: string | null;
  isMarkedCopy: boolean;
  isSubagent: boolean;
  /** The bytes that the model wrote, by a tool use's id or a block's type; empty for a line with a stop reason. */
  written: readonly { name: string; byteLength: number }[];
  /** Unique ids of tool uses whose results count searches. */
  searchCallIds: readonly string[];
}

/** A line of a response whose usage comes on a later line. */
export type AnswerPart = Pick<AnswerLine, 'timestampMs' | 'model' | 'gitBranch' | 'isMarkedCopy' | 'isSubagent'>;

/** Receives what a `DirectReader` finds. The answer is false if it cannot tell what the line means for usage. */
export interface DirectSink {
  addLine(timestampMs: number | undefined): void;
  addSessionFacts(cwd: JsonValue | undefined, version: JsonValue | undefined): void;
  /** A message that is no answer. */
  addMessage(results: readonly { callId: string; searchCount: number }[]): boolean;
  addAnswer(line: AnswerLine): boolean;
  /** A part of the response that `addUsage` names. */
  addPart(group: string, part: AnswerPart): boolean;
  /** The usage of a group's parts, if they are known; otherwise of a response without any. */
  addUsage(group: string | null, line: AnswerLine): boolean;
  /** An answer without usage that names no response. */
  addUnmetered(): boolean;
}

/** Maps lines to their facts about usage, as the format's reader does with more steps. */
export interface DirectReader {
  /** False for a value that it is not made for. The transcript then needs the reader. */
  read(value: JsonObject, sink: DirectSink): boolean;
  /** False if the transcript as a whole needs the reader. Called after the last line. */
  finish?(): boolean;
}

/** One form of an agent's sessions. */
export interface Format {
  id: string;
  /**
   * `session` is the agent's own file. `stream` is the output of a run, which shows the same session in different
   * lines.
   */
  kind: 'session' | 'stream';
  /**
   * `document` is one JSON document, which the agent rewrites as a whole. Readers get its entries as lines, each
   * element of a top-level array, or each member of a top-level object as an object with only that member. If the
   * member is an array, each of its elements becomes such an object (`{"messages":{…}}`). `detect` gets an outline. For
   * an object, all members found at the beginning of the document, with arrays reduced to their first element
   * (`{"id":"…","messages":{…}}`); for an array, its first element. Default: `lines`.
   */
  layout?: 'lines' | 'document';
  /**
   * True if the agent rewrites lines that it has written; defaults to true for documents only. A later version of a
   * session then replaces an earlier one if it has all of its responses. A version that begins with all bytes of
   * another replaces it in any case.
   */
  isRewritten?: boolean;
  /** True if the format holds no answers at all, so that their usage cannot be known. */
  lacksUsage?: boolean;
  /** Formats that hold less of the same session. A transcript in this format replaces those in the listed ones. */
  outranks?: readonly string[];
  /**
   * Confidence that a line is in this format, from 0 (no sign of it) to 1 (certain). The first line that any format
   * scores above 0 decides, and the highest score wins. Some agents' formats differ only in where their files are:
   * `path` is the file's path, if known.
   */
  detect(line: JsonObject, path?: string): number;
  /** Lets a scan for usage alone skip lines without parsing them. Undefined if all lines must be read. */
  usageMarkers?: UsageMarkers;
  /** For formats that have most of the files. It gets only lines with `usageMarkers`, if the format has any. */
  createDirectReader?(maxInlineContentBytes: number): DirectReader;
  /** Adds to `found` what the line says about the transcript. */
  identify?(line: JsonObject, found: ContentIdentity): void;
  /** `state` comes from a checkpoint of a reader of the same version. */
  createReader(context: ReaderContext, state?: unknown): Reader;
}

/** The facts in a transcript's path, by the agents' folder layouts. */
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
 * The kind of a file kept with a transcript. `tool_result` is the full result whose beginning is in the transcript.
 * `subagent` has facts about a sub-agent. `workflow` is a workflow's script, state or journal.
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

/** The way that an agent keeps a session's files with its transcript. Paths within the folder use `/` as separator. */
interface AgentAttachments {
  /** Which session's attachment a file on disk is; undefined if it is no attachment. */
  readPath(path: string): AttachmentIdentity | undefined;
  /** By the path within the session's folder; undefined for files that the agent does not keep there. */
  toKind(path: string): AttachmentKind | undefined;
  /** The attachment that the text of a tool's result points to. */
  findReference(text: string): AttachmentReference | undefined;
}

/** An option, with its value if it takes one, and the spellings that the user may have passed already. */
interface OutputOption {
  words: readonly string[];
  spellings: readonly string[];
  /** True if the program accepts the option together with these arguments. Defaults to always. */
  isTaken?(args: readonly string[]): boolean;
}

/** The program that runs an agent, if recount can read its output while it runs. */
export interface AgentProgram {
  /** Base name, in lower case. */
  command: string;
  /** The live API's name for the form of its output. */
  sourceFormat: string;
  /** Options that make it print its stream, in addition to its own print mode. */
  outputOptions: readonly OutputOption[];
  /**
   * Index in the arguments where missing options are inserted; undefined if the command prints no stream even with
   * them.
   */
  toOptionIndex(args: readonly string[]): number | undefined;
  /** Reads the stream line by line. */
  createReader(context: ReaderContext): Reader;
  /** True if the usage on its lines includes earlier runs of a resumed session. Defaults to false. */
  countsWholeSession?: boolean;
}

/** A coding agent. Everything that recount knows about it is in its folder. */
export interface Agent {
  /** The one name for it in rows, reports, options and the API. */
  id: string;
  label: string;
  formats: readonly Format[];
  /** Undefined if it keeps no sessions on the machine. */
  places?: readonly SessionPlace[];
  /** The layout of databases, if a place holds a `database`. It has the layout of each version, the newest first. */
  databases?: readonly SessionDatabase[];
  /** The layout of the databases, if a place holds a `database` for each session. */
  blobs?: SessionBlobs;
  /** The layout of the files, if a place holds a `folder`. */
  folder?: SessionFolder;
  /** Set if a place holds `prompts`. */
  promptHistory?: PromptHistory;
  readPath?(path: string): PathIdentity;
  attachments?: AgentAttachments;
  program?: AgentProgram;
  /** Set if it exports its usage by OTLP. */
  telemetry?: AgentTelemetry;
  /** The words of the command that resumes a session in a terminal, in the session's folder. */
  toResumeWords?(sessionId: string): readonly string[];
}
