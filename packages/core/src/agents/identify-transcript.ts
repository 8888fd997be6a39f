import { createLineSplitter } from '../lines/line-splitter.ts';
import { parseJsonLine } from '../lines/parse-json-line.ts';
import { isJsonObject, MAX_IDENTIFIER_LENGTH } from '../records/fields.ts';
import type { ContentIdentity, PathIdentity } from './agent.ts';
import { AGENTS } from './agents.ts';
import { detectFormat, type KnownFormat } from './registry.ts';
import { toSubagentSessionId } from './subagent-session-id.ts';

/** Bytes from the beginning of a transcript that suffice to identify all known ones: first lines can be long. */
export const IDENTIFY_HEAD_BYTES = 4 * 1024 * 1024;

export interface TranscriptIdentity {
  /** Undefined if no line gave the format away. */
  format: string | undefined;
  /** The agent whose format it is. */
  agent: string | undefined;
  /** Whether transcripts of the format can be ingested. */
  isReadable: boolean;
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
 * Decides whose transcript it is: the uploader's word first, then the path by the agents' layouts, then the lines, and
 * the file's name last. Whether it is a sub-agent's is the path's to say; lines decide where the path says nothing.
 */
export function identifyTranscript({ sessionId, path, head }: IdentifyInput): TranscriptIdentity {
  const content = readHead(head);
  const fromPath = path === undefined ? undefined : readPath(path);
  const pathIsTelling = fromPath !== undefined && (fromPath.isSubagent || fromPath.sessionId !== undefined);
  const isNamedSubagent = content.parentSessionId !== undefined;
  const isSubagent = isNamedSubagent || (pathIsTelling ? fromPath.isSubagent : content.agentId !== undefined);
  const agentId = isSubagent ? (fromPath?.agentId ?? content.agentId) : undefined;
  const parentSessionId = isSubagent
    ? (content.parentSessionId ?? fromPath?.parentSessionId ?? content.sessionId)
    : undefined;
  return {
    format: content.known?.format.id,
    agent: content.known?.agent.id,
    isReadable: content.known?.format.createReader !== undefined,
    sessionId: cut(
      sessionId ||
        (fromPath?.sessionId ??
          (isSubagent && !isNamedSubagent
            ? toSubagentId(parentSessionId, agentId, fromPath?.stem)
            : content.sessionId) ??
          (fromPath?.stem || undefined)),
    ),
    isSubagent,
    parentSessionId: cut(parentSessionId),
    agentId: cut(agentId),
    isConclusive:
      content.known !== undefined && content.sessionId !== undefined && (pathIsTelling || content.hasMessage),
  };
}

/** The first agent whose layout the path fits says more than its file name. */
function readPath(path: string): PathIdentity | undefined {
  const identities = AGENTS.flatMap((agent) => agent.readPath?.(path) ?? []);
  return identities.find(({ isSubagent, sessionId }) => isSubagent || sessionId !== undefined) ?? identities[0];
}

function toSubagentId(parent: string | undefined, agent: string | undefined, stem: string | undefined) {
  if (agent === undefined) return stem || undefined;
  return parent === undefined ? stem || `agent-${agent}` : toSubagentSessionId(parent, agent);
}

interface HeadContent extends ContentIdentity {
  known: KnownFormat | undefined;
}

function readHead(head: Uint8Array): HeadContent {
  const found: HeadContent = {
    known: undefined,
    sessionId: undefined,
    agentId: undefined,
    parentSessionId: undefined,
    hasMessage: false,
  };
  const splitter = createLineSplitter(IDENTIFY_HEAD_BYTES, ({ bytes }) => {
    if (found.sessionId !== undefined && found.hasMessage) return;
    for (const value of bytes === undefined ? [] : parseJsonLine(bytes.toString('utf8').trim()).values) {
      found.known ??= detectFormat(value);
      if (isJsonObject(value)) found.known?.format.identify?.(value, found);
    }
  });
  splitter.push(head);
  splitter.finish();
  return found;
}

function cut(id: string | undefined): string | undefined {
  return id?.slice(0, MAX_IDENTIFIER_LENGTH).toWellFormed().replaceAll('\0', '\uFFFD');
}
