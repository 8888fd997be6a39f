import type { JsonValue } from '../lines/json.ts';
import { isJsonObject } from '../records/fields.ts';
import type { Agent, AgentProgram, Format, Reader, ReaderContext } from './agent.ts';
import { AGENTS } from './all-agents.ts';

/** The agent assumed if neither the lines nor a person name one. */
export const DEFAULT_AGENT_ID = AGENTS[0].id;

/** An agent whose output recount can read while it runs. */
export type RunnableAgent = Agent & { program: AgentProgram };

export const RUNNABLE_AGENTS: readonly RunnableAgent[] = AGENTS.filter(
  (agent): agent is RunnableAgent => agent.program !== undefined,
);

/** A format and its agent. */
export interface KnownFormat {
  agent: Agent;
  format: Format;
}

/** Every format of every agent. */
export const FORMATS: readonly KnownFormat[] = AGENTS.flatMap((agent) =>
  agent.formats.map((format) => ({ agent, format })),
);

/** Ids of the formats that hold no answers, see `Format`. */
export const FORMATS_WITHOUT_USAGE: readonly string[] = FORMATS.filter(({ format }) => format.lacksUsage).map(
  ({ format }) => format.id,
);

export function findFormat(id: string): KnownFormat | undefined {
  return FORMATS.find(({ format }) => format.id === id);
}

export function isStreamFormat(id: string): boolean {
  return findFormat(id)?.format.kind === 'stream';
}

/** True if a later version of a session in the format may not begin with the earlier one's bytes, see `Format`. */
export function isRewrittenFormat(id: string): boolean {
  const format = findFormat(id)?.format;
  return format?.isRewritten ?? format?.layout === 'document';
}

/** True if a transcript of one format replaces one of the other, of the same session, see `Format`. */
export function outranks(id: string, otherId: string): boolean {
  return findFormat(id)?.format.outranks?.includes(otherId) === true;
}

/** The first of an agent's formats, optionally of one kind; undefined if it has none, or the agent is unknown. */
export function findAgentFormat(agentId: string, kind?: Format['kind']): KnownFormat | undefined {
  return FORMATS.find(({ agent, format }) => agent.id === agentId && (kind === undefined || format.kind === kind));
}

/**
 * The format indicated by a line's fields or a document's outline, and the file's path; limited to `agentId`'s formats
 * if given. Undefined if none fits.
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

/** Throws TypeError for a format that is not in FORMATS. */
export function createTranscriptReader(formatId: string, context: ReaderContext, state?: unknown): Reader {
  const known = findFormat(formatId);
  if (known === undefined) throw new TypeError(`recount does not know the format ${formatId}`);
  return known.format.createReader(context, state);
}
