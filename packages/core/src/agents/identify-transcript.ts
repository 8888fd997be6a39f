import { createDocumentSplitter, toEntryObject } from '../lines/document-splitter.ts';
import { findUnreadEncoding, type UnreadEncoding } from '../lines/find-encoding.ts';
import type { JsonObject } from '../lines/json.ts';
import { limitValues, parseJsonLine } from '../lines/json-line.ts';
import { LineCutter } from '../lines/line-cutter.ts';
import { createLineSplitter } from '../lines/line-splitter.ts';
import { isJsonObject, MAX_IDENTIFIER_LENGTH } from '../records/fields.ts';
import type { Agent, ContentIdentity, PathIdentity } from './agent.ts';
import { AGENTS } from './all-agents.ts';
import { detectFormat, findAgentFormat, type KnownFormat } from './formats.ts';
import { toSubagentSessionId } from './subagent-session-id.ts';
import { toFileIdentity } from './transcript-path.ts';

/**
 * Bytes from the beginning of a transcript that are enough to identify all known ones, because first lines can be long.
 */
export const IDENTIFY_HEAD_BYTES = 4 * 1024 * 1024;

/**
 * Why bytes are rejected. They are empty, neither lines nor path identify them, they are prompts of many sessions, or
 * no text in UTF-8.
 */
export type Refusal = 'empty' | 'unknown-format' | 'prompt-history' | UnreadEncoding;

const REFUSALS: Readonly<Record<Refusal, string>> = {
  empty: 'empty',
  'unknown-format': 'not recognised as a transcript of any agent that recount reads',
  'prompt-history':
    'a prompt history of many sessions: `recount backfill --yes` on the agent’s machine imports those whose transcripts are gone',
  'utf-16': 'encoded as UTF-16, not UTF-8: convert it (`iconv -f UTF-16 -t UTF-8 FILE`) and upload the converted file',
  'utf-32': 'encoded as UTF-32, not UTF-8: convert it (`iconv -f UTF-32 -t UTF-8 FILE`) and upload the converted file',
  binary: 'not text, but damaged, encrypted, or of another kind than its name says',
};

/** The message for a refusal, to follow the file's name. The API and all commands use the same one. */
export function describeRefusal(refusal: Refusal): string {
  return REFUSALS[refusal];
}

/** Longer first lines are judged by their beginning. */
const MAX_FIRST_LINE_BYTES = 256 * 1024;
/** Bytes decoded at a time before checking whether they suffice. */
const STEP_BYTES = 64 * 1024;
/** Most first lines are shorter. Decoding more of each file would take longer than the rest of the identification. */
const FIRST_LOOK_BYTES = 8 * 1024;
/** In nearly all known documents, the members needed come first. */
const MAX_OUTLINE_ENTRIES = 100_000;

export interface TranscriptIdentity {
  /** Undefined if no line revealed the format. */
  format: string | undefined;
  /** The agent whose format it is. */
  agent: string | undefined;
  /** True if the lines or the path identify it, or else the uploader, by naming agent and session. */
  isRecognised: boolean;
  /** True if the lines are prompts of many sessions, see `PromptHistory`. Never recognised. */
  isPromptHistory: boolean;
  /** Set if no line can be read because of the file's encoding; then neither format nor path count. */
  encoding: UnreadEncoding | undefined;
  /** Undefined if neither the caller, the path nor a line names it. */
  sessionId: string | undefined;
  isSubagent: boolean;
  parentSessionId: string | undefined;
  agentId: string | undefined;
  /** False if more of the transcript's beginning could still change the answer. */
  isConclusive: boolean;
}

export interface IdentifyInput {
  /** Named by the uploader; overrides path and content. */
  sessionId?: string | undefined;
  /** Agent id named by the uploader. The lines are then read in one of its formats, whatever they look like. */
  agent?: string | undefined;
  /** The transcript's original path. */
  path?: string | undefined;
  /**
   * The transcript's first bytes, up to IDENTIFY_HEAD_BYTES. An incomplete last line is ignored, unless the head has
   * that full size.
   */
  head: Uint8Array;
}

/**
 * Decides which session a transcript belongs to, by the uploader's word first, then the path (by the agents' layouts),
 * then the lines, and the file's name last. Whether it is a sub-agent's is decided by the path, or by the lines if the
 * path does not say.
 */
export function identifyTranscript({ sessionId, agent, path, head }: IdentifyInput): TranscriptIdentity {
  const content = readHead(head, path, agent);
  const isPromptHistory = content.isPromptHistory && !content.isDetected;
  const encoding = content.isDetected ? undefined : findUnreadEncoding(head);
  const fromPath = path === undefined ? undefined : readPath(path, content.known?.agent);
  const pathIsTelling = fromPath !== undefined && (fromPath.isSubagent || fromPath.sessionId !== undefined);
  const isSessionNamed = Boolean(sessionId) || content.sessionId !== undefined;
  const isNamedSubagent = content.parentSessionId !== undefined;
  const isOwnSession = isNamedSubagent || content.isSubagent === true;
  const isSubagent = isOwnSession || (pathIsTelling ? fromPath.isSubagent : content.agentId !== undefined);
  const agentId = isSubagent ? (fromPath?.agentId ?? content.agentId) : undefined;
  const parentSessionId = isSubagent
    ? (content.parentSessionId ?? fromPath?.parentSessionId ?? (isOwnSession ? undefined : content.sessionId))
    : undefined;
  return {
    format: encoding === undefined ? content.known?.format.id : undefined,
    agent: content.known?.agent.id,
    encoding,
    isRecognised:
      encoding === undefined &&
      !isPromptHistory &&
      (content.isDetected || pathIsTelling || (agent !== undefined && isSessionNamed)),
    isPromptHistory,
    sessionId: cut(
      sessionId ||
        (fromPath?.sessionId ??
          (isSubagent && !isOwnSession ? toSubagentId(parentSessionId, agentId, fromPath?.stem) : content.sessionId) ??
          (fromPath?.stem || undefined)),
    ),
    isSubagent,
    parentSessionId: cut(parentSessionId),
    agentId: cut(agentId),
    isConclusive:
      content.known !== undefined && content.sessionId !== undefined && (pathIsTelling || content.hasMessage),
  };
}

/** The layout of the agent that the lines identify, or else the first layout that the path fits. */
function readPath(path: string, agent: Agent | undefined): PathIdentity | undefined {
  const identities = (agent === undefined ? AGENTS : [agent]).flatMap((agent) => agent.readPath?.(path) ?? []);
  return (
    identities.find(({ isSubagent, sessionId }) => isSubagent || sessionId !== undefined) ??
    identities[0] ??
    toFileIdentity(path)
  );
}

function toSubagentId(parent: string | undefined, agent: string | undefined, stem: string | undefined) {
  if (agent === undefined) return stem || undefined;
  return parent === undefined ? stem || `agent-${agent}` : toSubagentSessionId(parent, agent);
}

interface HeadContent extends ContentIdentity {
  known: KnownFormat | undefined;
  /** True if the bytes show the format, rather than only the uploader naming it. */
  isDetected: boolean;
  isPromptHistory: boolean;
}

function readHead(head: Uint8Array, path: string | undefined, agent: string | undefined): HeadContent {
  const found: ContentIdentity = {
    sessionId: undefined,
    agentId: undefined,
    parentSessionId: undefined,
    hasMessage: false,
  };
  let isPromptHistory = false;
  const outline = mayBeDocument(head) ? toOutline(head) : undefined;
  let detected = outline && detectFormat(outline, path, 'document', agent);
  const fallback = agent === undefined ? undefined : findAgentFormat(agent, 'session');
  const isDocument = detected !== undefined || (outline !== undefined && fallback?.format.layout === 'document');
  const isFound = (): boolean => found.sessionId !== undefined && found.hasMessage;
  // All together, because an entry behind the messages may say whose they are.
  if (isDocument && outline !== undefined) (detected ?? fallback)?.format.identify?.(outline, found);
  const createSplitter = isDocument ? createDocumentSplitter : createLineSplitter;
  const splitter = createSplitter(IDENTIFY_HEAD_BYTES, ({ bytes, key, terminated }) => {
    if (isFound()) return;
    const isTorn = !terminated && head.length >= IDENTIFY_HEAD_BYTES;
    const line = bytes === undefined ? '' : (isTorn ? closeTornLine(bytes) : bytes).toString('utf8');
    for (const json of parseJsonLine(limitValues(line.trim())).values) {
      const value = toEntryObject(json, key);
      if (!isDocument) detected ??= detectFormat(value, path, 'lines', agent);
      isPromptHistory ||= isJsonObject(value) && AGENTS.some((each) => each.promptHistory?.isLine(value));
      if (isJsonObject(value)) (detected ?? fallback)?.format.identify?.(value, found);
    }
  });
  for (let start = 0; start < head.length && !isFound(); start += STEP_BYTES) {
    splitter.push(head.subarray(start, start + STEP_BYTES));
  }
  splitter.finish();
  return { ...found, known: detected ?? fallback, isDetected: detected !== undefined, isPromptHistory };
}

/** Completes the beginning of a line that is longer than the head, so that it parses as JSON. */
function closeTornLine(bytes: Buffer): Buffer {
  const cutter = new LineCutter({ maxBytes: IDENTIFY_HEAD_BYTES, maxTextBytes: MAX_FIRST_LINE_BYTES });
  cutter.push(bytes);
  return cutter.finish(true).bytes;
}

/** True if the bytes may be one JSON document (an array, or an object that is not followed by more lines). */
function mayBeDocument(head: Uint8Array, maxBytes = FIRST_LOOK_BYTES): boolean {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, maxBytes)).toString('utf8');
  const start = /[^\s\uFEFF]/.exec(text)?.index ?? 0;
  if (text[start] === '[') return true;
  const end = text.indexOf('\n', start);
  const behind = end === -1 ? '' : text.slice(end).trim();
  // A single character may be part of a cut line.
  const isDecided = behind.length > 1 || maxBytes >= Math.min(head.length, MAX_FIRST_LINE_BYTES);
  if (!isDecided) return mayBeDocument(head, MAX_FIRST_LINE_BYTES);
  if (text[start] !== '{') return false;
  return behind === '' || parseJsonLine(text.slice(start, end)).isBroken;
}

/** See `Format.layout`. Undefined if the bytes are not JSON. */
function toOutline(head: Uint8Array): JsonObject | undefined {
  const outline: JsonObject = {};
  let isKnown = false;
  const splitter = createDocumentSplitter(IDENTIFY_HEAD_BYTES, ({ bytes, key = '', lineNumber, terminated }) => {
    if (bytes === undefined || !terminated || lineNumber > MAX_OUTLINE_ENTRIES || Object.hasOwn(outline, key)) return;
    const [value] = parseJsonLine(limitValues(bytes.toString('utf8'))).values;
    if (value === undefined || (key === '' && isKnown)) return;
    isKnown = true;
    if (key !== '') outline[key] = value;
    else if (isJsonObject(value)) Object.assign(outline, value);
  });
  splitter.push(head);
  return isKnown ? outline : undefined;
}

function cut(id: string | undefined): string | undefined {
  return id?.slice(0, MAX_IDENTIFIER_LENGTH).toWellFormed().replaceAll('\0', '\uFFFD');
}
