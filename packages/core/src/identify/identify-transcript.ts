import { createLineSplitter } from '../lines/line-splitter.ts';
import { parseJsonLine } from '../lines/parse-json-line.ts';
import { isJsonObject, MAX_IDENTIFIER_LENGTH } from '../records/fields.ts';
import type { JsonObject, JsonValue } from '../rows.ts';
import { detectFormat, type TranscriptFormat } from './detect-format.ts';
import { parseTranscriptPath, toSubagentSessionId } from './transcript-path.ts';

/** Bytes from the beginning of a transcript that suffice to identify all known ones: first lines can be long. */
export const IDENTIFY_HEAD_BYTES = 4 * 1024 * 1024;

export interface TranscriptIdentity {
  /** Undefined where no line gave the format away. */
  format: TranscriptFormat | undefined;
  /** Undefined where neither the caller, the path nor a line names it. */
  sessionId: string | undefined;
  isSubagent: boolean;
  parentSessionId: string | undefined;
  agentId: string | undefined;
  /** False where more of the transcript's beginning could still change the answer. */
  isConclusive: boolean;
}

export interface IdentifyInput {
  /** Named by the uploader; it overrules path and content. */
  sessionId?: string | undefined;
  /** The transcript's original path. */
  path?: string | undefined;
  /** The transcript's first bytes, up to IDENTIFY_HEAD_BYTES; a torn last line is ignored. */
  head: Uint8Array;
}

/**
 * Decides whose transcript it is: the uploader's word first, then the path by Claude Code's layout, then the lines, and
 * the file's name last. Whether it is a sub-agent's is the path's to say; lines decide where the path says nothing.
 */
export function identifyTranscript({ sessionId, path, head }: IdentifyInput): TranscriptIdentity {
  const content = readHead(head);
  const fromPath = path === undefined ? undefined : parseTranscriptPath(path);
  const pathIsTelling = fromPath !== undefined && (fromPath.isSubagent || fromPath.sessionId !== undefined);
  const isSubagent = pathIsTelling ? fromPath.isSubagent : content.agentId !== undefined;
  const agentId = isSubagent ? (fromPath?.agentId ?? content.agentId) : undefined;
  const parentSessionId = isSubagent ? (fromPath?.parentSessionId ?? content.sessionId) : undefined;
  return {
    format: content.format,
    sessionId: cut(
      sessionId ||
        (fromPath?.sessionId ??
          (isSubagent ? toSubagentId(parentSessionId, agentId, fromPath?.stem) : content.sessionId) ??
          (fromPath?.stem || undefined)),
    ),
    isSubagent,
    parentSessionId: cut(parentSessionId),
    agentId: cut(agentId),
    isConclusive:
      content.format !== undefined && content.sessionId !== undefined && (pathIsTelling || content.hasMessage),
  };
}

function toSubagentId(parent: string | undefined, agent: string | undefined, stem: string | undefined) {
  if (agent === undefined) return stem || undefined;
  return parent === undefined ? stem || `agent-${agent}` : toSubagentSessionId(parent, agent);
}

interface HeadContent {
  format: TranscriptFormat | undefined;
  sessionId: string | undefined;
  /** Present where the first message line is a sub-agent's. */
  agentId: string | undefined;
  hasMessage: boolean;
}

function readHead(head: Uint8Array): HeadContent {
  const found: HeadContent = { format: undefined, sessionId: undefined, agentId: undefined, hasMessage: false };
  let firstMessage: JsonObject | undefined;
  const splitter = createLineSplitter(IDENTIFY_HEAD_BYTES, ({ bytes }) => {
    if (found.sessionId !== undefined && firstMessage !== undefined) return;
    for (const value of bytes === undefined ? [] : parseJsonLine(bytes.toString('utf8').trim()).values) {
      found.format ??= detectFormat(value);
      if (!isJsonObject(value)) continue;
      found.sessionId ??= readId(found.format === 'claude-stream-json' ? value.session_id : value.sessionId);
      if (firstMessage === undefined && (value.type === 'user' || value.type === 'assistant')) firstMessage = value;
    }
  });
  splitter.push(head);
  splitter.finish();
  found.hasMessage = firstMessage !== undefined;
  if (firstMessage?.isSidechain === true) found.agentId = readId(firstMessage.agentId);
  return found;
}

function readId(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function cut(id: string | undefined): string | undefined {
  return id?.slice(0, MAX_IDENTIFIER_LENGTH).toWellFormed().replaceAll('\0', '\uFFFD');
}
