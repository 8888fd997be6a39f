import { isJsonObject } from '../records/fields.ts';
import type { JsonValue } from '../rows.ts';
import type { Agent, AgentProgram, Format, Reader, ReaderContext } from './agent.ts';
import { AGENTS } from './agents.ts';

/** Whose transcripts and streams they are taken for if neither their lines nor a person say. */
export const DEFAULT_AGENT_ID = AGENTS[0].id;

/** An agent whose output recount can read while it runs. */
export type RunnableAgent = Agent & { program: AgentProgram };

export const RUNNABLE_AGENTS: readonly RunnableAgent[] = AGENTS.filter(
  (agent): agent is RunnableAgent => agent.program !== undefined,
);

/** A format with the agent whose it is. */
export interface KnownFormat {
  agent: Agent;
  format: Format;
}

const FORMATS: readonly KnownFormat[] = AGENTS.flatMap((agent) => agent.formats.map((format) => ({ agent, format })));

/** Formats whose transcripts can be ingested. */
export const READABLE_FORMATS: readonly KnownFormat[] = FORMATS.filter(
  ({ format }) => format.createReader !== undefined,
);

export function findFormat(id: string): KnownFormat | undefined {
  return FORMATS.find(({ format }) => format.id === id);
}

export function isStreamFormat(id: string): boolean {
  return findFormat(id)?.format.kind === 'stream';
}

/** Whether versions of a session in the format need not begin with one another's bytes: see `Format`. */
export function isRewrittenFormat(id: string): boolean {
  const format = findFormat(id)?.format;
  return format?.isRewritten ?? format?.layout === 'document';
}

/** Whether a transcript of one format takes the place of any of the other, of the same session: see `Format`. */
export function outranks(id: string, otherId: string): boolean {
  return findFormat(id)?.format.outranks?.includes(otherId) === true;
}

/** The form in which an agent's transcripts (of a kind) can be ingested; undefined if there is none. */
export function findReadableFormat(agentId: string, kind?: Format['kind']): KnownFormat | undefined {
  return READABLE_FORMATS.find(
    ({ agent, format }) => agent.id === agentId && (kind === undefined || format.kind === kind),
  );
}

/**
 * The format that a line's fields, or a document's outline, and the file's path give away, of those of `agentId` if it is
 * known; undefined if they fit none.
 */
export function detectFormat(
  line: JsonValue,
  path?: string,
  layout: NonNullable<Format['layout']> = 'lines',
  agentId?: string,
): KnownFormat | undefined {
  if (!isJsonObject(line)) return undefined;
  let best: KnownFormat | undefined;
  let bestConfidence = 0;
  for (const known of FORMATS) {
    if ((known.format.layout ?? 'lines') !== layout || (agentId ?? known.agent.id) !== known.agent.id) continue;
    const confidence = known.format.detect(line, path);
    if (confidence <= bestConfidence) continue;
    best = known;
    bestConfidence = confidence;
  }
  return best;
}

/** Throws TypeError for a format that is not in READABLE_FORMATS. */
export function createTranscriptReader(formatId: string, context: ReaderContext, state?: unknown): Reader {
  const reader = findFormat(formatId)?.format.createReader?.(context, state);
  if (reader === undefined) throw new TypeError(`recount cannot read the format ${formatId}`);
  return reader;
}
